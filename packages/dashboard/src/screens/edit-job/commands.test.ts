import { describe, expect, test } from 'vitest';
import { cliCommand, curlCommand, flagsAt, shellWord, typescriptCode } from './commands.ts';

const url = 'http://127.0.0.1:7420';
const body = {
  name: "ada's report",
  handler: 'http',
  payload: { url: 'https://example.org/?a=1&b=2' },
  cron_expression: '0 9 * * 1-5',
  time_zone: 'Europe/Paris',
  labels: { team: 'billing' },
};

describe('a job as a command', () => {
  test('of curl carries the body as one word, whatever is in it', () => {
    const command = curlCommand({ url, body });
    expect(command).toContain('curl -X POST http://127.0.0.1:7420/api/jobs');
    expect(command).toContain('$CARILLON_KEY');
    expect(command).toContain(`"name": "ada'\\''s report"`);
    expect(curlCommand({ url, body: { priority: 'high' }, jobId: 'j1' })).toContain('-X PATCH');
  });

  test('of the command line uses flags where there are flags for everything', () => {
    expect(cliCommand({ url, body })).toBe(
      [
        `CARILLON_URL=http://127.0.0.1:7420 npx --no-install carillon jobs create 'ada'\\''s report'`,
        `--http 'https://example.org/?a=1&b=2'`,
        `--cron '0 9 * * 1-5'`,
        '--tz Europe/Paris',
        '--label team=billing',
      ].join(' \\\n  '),
    );
  });

  test('of the command line finds the server by itself where the page is on its machine', () => {
    const own = 'npx --no-install carillon jobs';
    const { name } = body;
    expect(cliCommand({ url, body: { name }, commandFlags: '' })).toBe(`${own} create 'ada'\\''s report'`);
    expect(cliCommand({ url, body: {}, jobId: 'j1', commandFlags: ' --data /srv/carillon' })).toContain(
      `${own} update j1 --data /srv/carillon --file -`,
    );
    expect(flagsAt(new URL('http://127.0.0.1:7420/'), '')).toBe('');
    expect(flagsAt(new URL('http://[::1]:7420/'), ' --data /d')).toBe(' --data /d');
    // Elsewhere, and for those whom the server names none: by the address, with a key of their own.
    expect(flagsAt(new URL('https://carillon.example.org/'), ' --data /d')).toBeUndefined();
    expect(flagsAt(new URL('http://127.0.0.1:7420/'), null)).toBeUndefined();
  });

  test('of the command line gives the definition as JSON where a field has no flag', () => {
    const command = cliCommand({ url, body: { ...body, retry: { jitter: false } } });
    expect(command).toContain("jobs create --file - <<'JSON'\n{");
    expect(command.endsWith('\nJSON')).toBe(true);
    expect(cliCommand({ url, body: {}, jobId: 'j1' })).toContain('jobs update j1 --file -');
  });

  test('of another handler names it and its payload', () => {
    const command = cliCommand({ url, body: { name: 'a', handler: 'resize', payload: { width: 1 } } });
    expect(command).toContain('--handler resize');
    expect(command).toContain(`--payload '{"width":1}'`);
  });

  test('in TypeScript is a literal that means the same', () => {
    const odd = { name: `it's "odd"\n`, payload: { 'a-b': [1, null, true], empty: {} } };
    const code = typescriptCode({ url, body: odd });
    const text = /create\(([\s\S]*)\);$/.exec(code)?.[1] ?? '';
    expect(new Function(`return (${text})`)()).toEqual(odd);
  });

  test('words are quoted wherever a shell would read more into them', () => {
    expect(shellWord('a-b/c.d:1')).toBe('a-b/c.d:1');
    for (const text of ['$HOME', '`x`', 'a b', 'a\nb', '"q"', '\\', '', '*', '~'])
      expect(shellWord(text)).toBe(`'${text}'`);
    expect(shellWord(`a'b`)).toBe(`'a'\\''b'`);
  });
});
