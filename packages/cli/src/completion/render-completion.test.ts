import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { allCommands } from '../commands/all-commands.ts';
import { GLOBAL_OPTIONS } from '../program/global-options.ts';
import { renderCompletion, SHELLS } from './render-completion.ts';

const parts = { commands: allCommands, globals: GLOBAL_OPTIONS };

/** What bash offers after these words. */
function offered(...words: string[]): string[] {
  const script = `${renderCompletion('bash', parts)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _carillon
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
}

test('bash completes commands, verbs, options and choices', () => {
  expect(offered('carillon', 'jo')).toEqual(['jobs']);
  expect(offered('carillon', 'jobs', 'cr')).toEqual(['create']);
  expect(offered('carillon', 'jobs', 'create', '--cr')).toEqual(['--cron']);
  expect(offered('carillon', 'completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  expect(offered('carillon', 'preview', '--t')).toEqual(['--tz']);
});

test.each(SHELLS)('%s knows every command', (shell) => {
  const script = renderCompletion(shell, parts);
  for (const { name } of allCommands) for (const word of name.split(' ')) expect(script).toContain(word);
});
