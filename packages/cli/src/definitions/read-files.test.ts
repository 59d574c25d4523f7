import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { type ReadOptions, readDefinitions } from './read-files.ts';

async function read(files: Record<string, string>, over: Partial<ReadOptions> = {}) {
  const cwd = await mkdtemp(join(tmpdir(), 'carillon-definitions-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  const stdin = Readable.from(['- key: typed\n']) as unknown as NodeJS.ReadStream;
  const options = { paths: Object.keys(files), namespace: undefined, set: undefined, ...over };
  return readDefinitions({ ...options, world: { cwd, stdin } });
}

const LIST =
  'namespace: billing\nset: main\njobs:\n  - key: a\n    labels: {team: x}\n  - key: b\n    namespace: other\n';

test('a list below jobs has one namespace and one set, unless a job names another namespace', async () => {
  const { jobs, problems, namespaces, set } = await read({ 'jobs.yaml': LIST });
  expect(problems).toEqual([]);
  expect(set).toBe('main');
  expect(namespaces).toEqual(new Set(['billing', 'other']));
  expect(jobs.map(({ job }) => job)).toEqual([
    { key: 'a', namespace: 'billing', labels: { team: 'x', 'carillon/set': 'main' } },
    { key: 'b', namespace: 'other', labels: { 'carillon/set': 'main' } },
  ]);
});

test('one job, several documents, a list, JSON, a folder and the standard input are read alike', async () => {
  const keysOf = async (...given: Parameters<typeof read>) => {
    const { jobs, problems } = await read(...given);
    expect(problems).toEqual([]);
    return jobs.map(({ job }) => job.key);
  };
  expect(await keysOf({ 'one.yaml': 'key: one\n' })).toEqual(['one']);
  expect(await keysOf({ 'two.yaml': 'key: one\n---\nkey: two\n---\n' })).toEqual(['one', 'two']);
  expect(await keysOf({ 'list.yml': '- key: one\n- key: two\n' })).toEqual(['one', 'two']);
  expect(await keysOf({ 'all.json': '{"jobs": [{"key": "one"}, {"key": "two"}]}' })).toEqual(['one', 'two']);
  const folder = { 'jobs/b.yaml': 'key: b', 'jobs/deep/a.json': '{"key": "a"}', 'jobs/notes.md': '# no' };
  expect(await keysOf(folder, { paths: ['jobs'] })).toEqual(['b', 'a']);
  await expect(keysOf({ 'docs/notes.md': '# no' }, { paths: ['docs'] })).rejects.toThrow(
    'The folder docs has no files of jobs: none ends in .yaml, .yml or .json.',
  );
  expect(await keysOf({}, { paths: ['-'] })).toEqual(['typed']);
  const anchors = 'common: &c {priority: high}\n';
  expect((await read({ 'a.yaml': anchors })).problems).toHaveLength(1);
  const { jobs } = await read({ 'm.yaml': '- &a {key: a, priority: high}\n- {<<: *a, key: b}\n' });
  expect(jobs[1]?.job).toEqual({ key: 'b', priority: 'high' });
});

test('everything that is wrong is said, with file and line', async () => {
  const { problems } = await read({
    'a.yaml': 'jobs:\n  - name: no key\n  - just text\n  - key: twice\n  - key: twice\n',
    'b.yaml': 'colour: red\nnamespace: 7\njobs: {}\n',
    'c.yaml': 'jobs:\n  - key: [open\n',
  });
  expect(problems.map(({ file, line, field }) => [file, line, field])).toEqual([
    ['a.yaml', 2, 'key'],
    ['a.yaml', 3, undefined],
    ['a.yaml', 5, 'key'],
    ['b.yaml', 1, 'colour'],
    ['b.yaml', 2, 'namespace'],
    ['b.yaml', 3, 'jobs'],
    ['c.yaml', 3, undefined],
  ]);
  expect(problems[2]?.message).toContain('a.yaml:4');
});

test('a field is found by its line, within objects too', async () => {
  const { jobs } = await read({
    'a.yaml':
      'jobs:\n  - key: a\n    cron_expression: bad\n    retry:\n      strategy: fixed\n      delay_seconds: -1\n',
  });
  const lineOf = (field?: string) => jobs[0]?.lineOf(field);
  expect([lineOf(), lineOf('cron_expression'), lineOf('retry.delay_seconds'), lineOf('handler')]).toEqual([
    2, 3, 6, 2,
  ]);
});

test('two sets in files that are applied together are refused, unless the command names one', async () => {
  const files = { 'a.yaml': 'set: a\njobs: []\n', 'b.yaml': 'set: b\njobs: []\n' };
  expect((await read(files)).problems).toMatchObject([{ file: 'b.yaml', line: 1, field: 'set' }]);
  expect(await read(files, { set: 'c' })).toMatchObject({ problems: [], set: 'c' });
});

test('a cron expression without quotes is told once, with the quotes that it needs', async () => {
  const { problems } = await read({
    'a.yaml':
      '- key: a\n  cron_expression: */15 * * * *\n  handler: x\n- key: b\n  cron_expression: * * * * *\n',
  });
  expect(problems).toMatchObject([
    {
      line: 2,
      field: 'cron_expression',
      message: expect.stringContaining('cron_expression: "*/15 * * * *"'),
    },
    { line: 5, field: 'cron_expression', message: expect.stringContaining('cron_expression: "* * * * *"') },
  ]);
});
