import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { allCommands, NOUNS } from './commands/all-commands.ts';
import { renderCompletion, SHELLS } from './completion.ts';

const parts = { commands: allCommands, nouns: NOUNS };

/** What bash offers at the end of this line. */
function offered(line: string): string[] {
  const script = `${renderCompletion('bash', parts)}
COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _carillon
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
}

describe('bash completes', () => {
  test.each([
    ['carillon jo', ['jobs']],
    ['carillon jobs cr', ['create']],
    ['carillon help jobs cr', ['create']],
    ['carillon --url http://127.0.0.1:7420 jobs cr', ['create']],
    ['carillon jobs create --cr', ['--cron']],
    ['carillon jobs create ping --priority ', ['low', 'medium', 'high']],
    ['carillon jobs create ping --priority h', ['high']],
    ['carillon jobs bulk ', expect.arrayContaining(['pause', 'resume', 'cancel'])],
    ['carillon completion ', expect.arrayContaining(['bash', 'zsh', 'fish'])],
    ['carillon preview --t', ['--tz']],
    ["carillon preview '0 9' --t", ['--tz']],
    ['carillon jobs list --j', ['--json']],
    // Left to bash, which offers files.
    ['carillon jobs create --file ', ['']],
    ['carillon --data ', ['']],
  ])('%s', (line, words) => {
    expect(offered(line.replaceAll("'", ''))).toEqual(words);
  });

  test.each(allCommands.map(({ name }) => name))('every option of %s', (name) => {
    const spec = allCommands.find((one) => one.name === name);
    for (const { flags } of Object.values(spec?.options ?? {}))
      expect(offered(`carillon ${name} --`)).toContain(/--[\w-]+/.exec(flags)?.[0]);
  });
});

test.each(SHELLS)('%s knows every command', (shell) => {
  const script = renderCompletion(shell, parts);
  for (const { name } of allCommands) for (const word of name.split(' ')) expect(script).toContain(word);
});
