/** `completion`: the script that lets a shell finish words of this program. */
import { command } from '../command.ts';
import { renderCompletion, SHELLS, type Shell } from '../completion/render-completion.ts';
import { GLOBAL_OPTIONS } from '../program/global-options.ts';

export const completion = command({
  name: 'completion',
  summary: 'Print the completion script of a shell',
  details: 'Written to where the shell looks for it, it completes commands and options.',
  arguments: [{ name: '<shell>', description: 'Which shell', choices: SHELLS }],
  examples: [
    'source <(carillon completion bash)',
    'carillon completion zsh > ~/.zfunc/_carillon',
    'carillon completion fish > ~/.config/fish/completions/carillon.fish',
  ],
  async run({ args: [shell = 'bash'], cli }) {
    // Loaded when asked for: that list holds this command too.
    const { allCommands } = await import('./all-commands.ts');
    cli.out.raw(renderCompletion(shell as Shell, { commands: allCommands, globals: GLOBAL_OPTIONS }));
  },
});
