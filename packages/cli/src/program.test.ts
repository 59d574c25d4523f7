import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATALOGUE } from '@carillon/domain';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../server/src/config/load-config.ts';
import manifest from '../package.json' with { type: 'json' };
import { allCommands, NOUNS } from './commands/all-commands.ts';
import { writeLogin } from './connection.ts';
import { FIXES } from './explain-error.ts';
import { buildProgram, helpWords, namedBy, ofHandler, runCli, VERSION } from './program.ts';

/** Which command a line means, without doing it. */
async function parse(line: string): Promise<{ name: string; args: readonly string[]; options: object }> {
  let found: { name: string; args: readonly string[]; options: object } | undefined;
  const program = buildProgram({
    write: { out: () => undefined, err: () => undefined },
    run: async ({ name }, { args, options }) => {
      found = { name, args, options };
    },
  });
  await program.parseAsync(wordsOf(line), { from: 'user' });
  return found ?? expect.fail(`${line} means no command`);
}

/** As a shell cuts it, as far as examples go. */
function wordsOf(line: string): string[] {
  const [own = ''] = line.split(/ [|<>] |(?<=\w) > /);
  return [...own.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '').slice(1);
}

const examples = allCommands
  .filter(({ passThrough }) => !passThrough)
  .flatMap(({ name, examples: lines }) => lines.map((line) => [name, line] as const));

test.each(examples.filter(([, line]) => line.startsWith('carillon ')))(
  '%s: the example "%s" is understood',
  async (name, line) => {
    expect((await parse(line)).name).toBe(name);
  },
);

const serverExamples = allCommands
  .filter(({ passThrough }) => passThrough)
  .flatMap(({ name, examples: lines }) => lines.map((line) => [name, line] as const));

test.each(serverExamples)('%s: the settings of the example "%s" are known to the server', (name, line) => {
  const [command, ...argv] = wordsOf(line);
  expect(command).toBe(name);
  expect(loadConfig({ argv, env: {}, cwd: import.meta.dirname })).toMatchObject({ kind: 'run' });
});

test('options of every command may stand before and after its words', async () => {
  expect((await parse('carillon --json jobs list')).options).toMatchObject({ json: true });
  expect((await parse('carillon jobs list --json --url http://x')).options).toMatchObject({
    json: true,
    url: ['http://x'],
  });
});

test('values of the API are understood in any spelling', async () => {
  expect((await parse('carillon jobs list --type one-time --sort -next-run-at')).options).toMatchObject({
    type: 'one_time',
    sort: '-next_run_at',
  });
  expect((await parse('carillon jobs create x --priority HIGH')).options).toMatchObject({ priority: 'high' });
});

test('options that may be repeated are lists', async () => {
  const { options } = await parse('carillon jobs create x --label a=1 --label b=2');
  expect(options).toMatchObject({ label: ['a=1', 'b=2'] });
});

test('several ids are several arguments', async () => {
  expect((await parse('carillon jobs pause a b c')).args).toEqual(['a', 'b', 'c']);
});

test.each([
  ['carillon jobs lst', /Did you mean list/],
  ['carillon job list', /Did you mean jobs/],
  ['carillon jobs list --stats x', /Did you mean --status/],
  ['carillon jobs create x --priority urgent', /Allowed choices are low, medium, high/],
  ['carillon jobs show', /missing required argument 'job'/],
  ['carillon workers now', /too many arguments/],
])('%s is answered with what would be right', async (line, message) => {
  await expect(parse(line)).rejects.toThrow(message);
});

test.each([
  ['jobs create x --cron 0 9 * * *', "--cron '0 9 * * *'"],
  ['jobs create x --cron */5 file-1 file-2 --http http://x', "--cron '0 9 * * *'"],
  ['preview 0 9 * * 1-5 --tz UTC', "carillon preview '0 9 * * *'"],
])('%s is answered with "put it in quotes"', async (line, fix) => {
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const world = { env: {}, cwd: '/', stdin: {} as NodeJS.ReadStream, stdout: stream, stderr: stream };
  expect(await runCli(line.split(' '), world)).toBe(2);
  expect(said.join('')).toContain('put it in quotes');
  expect(said.join('')).toContain(fix);
});

const HERE = 'http://127.0.0.1:1';

test.each([
  [`jobs list --url ${HERE} --url http://127.0.0.1:2`, {}, '--url is given more than once'],
  [`--url ${HERE} jobs list --url http://127.0.0.1:2`, {}, '--url is given more than once'],
  [`jobs list --url ${HERE},http://127.0.0.1:2`, {}, 'is not an address of a server'],
  [`worker --handlers http --url ${HERE} --url two`, {}, '"two" is not an address of a server'],
  [`worker --handlers http --url ${HERE},two`, {}, '"two" is not an address of a server'],
  [`worker --handlers http --url ${HERE},`, {}, '"" is not an address of a server'],
  ['worker --handlers http', { CARILLON_URL: `${HERE},ftp://two` }, '"ftp://two" is not an address'],
])('%s with %j is refused in words', async (line, env, words) => {
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const world = { cwd: '/', stdin: {} as NodeJS.ReadStream, stdout: stream, stderr: stream };
  const keyed = { ...env, CARILLON_KEY: 'ck_x', XDG_CONFIG_HOME: '/nonexistent' };
  expect(await runCli(line.split(' '), { ...world, env: keyed })).toBe(2);
  expect(said.join('')).toContain(words);
  expect(said.join('')).not.toMatch(/TypeError|^\s+at /m);
});

test('the key of a context is not sent to the other servers of a worker', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const env = { XDG_CONFIG_HOME: folder };
  await writeLogin(env, { url: HERE, key: 'ck_found' });
  const said: string[] = [];
  const stream = { write: (text: string) => said.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const world = { env, cwd: '/', stdin: {} as NodeJS.ReadStream, stdout: stream, stderr: stream };
  const line = ['worker', '--handlers', 'http', '--url', HERE, '--url', 'http://127.0.0.1:2'];
  expect(await runCli(line, world)).toBe(2);
  expect(said.join('')).toContain('needs a key that is given');
});

test.each(['secrets set tok --value x', 'secrets set tok x'])(
  '%s is answered with where the value comes from',
  async (line) => {
    const said: string[] = [];
    const stream = { write: (text: string) => said.push(text) > 0 } as unknown as NodeJS.WriteStream;
    const world = { env: {}, cwd: '/', stdin: {} as NodeJS.ReadStream, stdout: stream, stderr: stream };
    expect(await runCli(line.split(' '), world)).toBe(2);
    expect(said.join('')).toContain('standard input or --from-file');
  },
);

test('every noun is explained, and none that is not there', () => {
  const nouns = new Set(allCommands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]] : [])));
  expect(Object.keys(NOUNS).sort()).toEqual([...nouns].sort());
});

test('no two commands have the same words', () => {
  const names = allCommands.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

/** Of the client, when no server answered. */
const OWN_CODES = new Set(['timed_out']);

test('advice is for errors that exist', () => {
  expect(Object.keys(FIXES).filter((code) => !(code in CATALOGUE) && !OWN_CODES.has(code))).toEqual([]);
});

test('the version is that of the manifest', () => {
  expect(VERSION).toBe(manifest.version);
});

const helped = (line: string) => helpWords(line.split(' ').filter(Boolean), allCommands).join(' ');

describe('help may stand before or between the words of a command', () => {
  test.each(allCommands.map(({ name }) => name))('help %s', (name) => {
    expect(helped(`help ${name}`)).toBe(`${name} --help`);
    const [noun, verb] = name.split(' ');
    if (verb !== undefined) expect(helped(`${noun} help ${verb}`)).toBe(`${name} --help`);
  });

  test.each([
    ['help', '--help'],
    ['help help', '--help'],
    ['help jobs', 'jobs --help'],
    ['jobs help', 'jobs --help'],
    ['help jobs creat', 'jobs creat'],
    ['help jbos', 'jbos'],
    ['jobs create help', 'jobs create help'],
    ['preview help', 'preview help'],
    ['jobs list', 'jobs list'],
  ])('%s is %s', (line, words) => {
    expect(helped(line)).toBe(words);
  });
});

test.each([
  ['jobs create --cron', 'jobs create'],
  ['--json jobs list', 'jobs list'],
  ['jobs creat', 'jobs'],
  ['workers now', 'workers'],
  ['jbos', undefined],
])('%s is about %s', (line, name) => {
  expect(namedBy(line.split(' '), allCommands)).toBe(name);
});

test('a member of a payload is not explained by a flag for http jobs where another handler is named', () => {
  const flags = allCommands.find(({ name }) => name === 'jobs create')?.options ?? {};
  expect(Object.keys(ofHandler(flags, 'http'))).toContain('http');
  expect(Object.keys(ofHandler(flags, undefined))).toContain('http');
  expect(Object.keys(ofHandler(flags, 'resize-image'))).not.toContain('http');
  expect(Object.keys(ofHandler(flags, 'resize-image'))).toContain('handler');
});
