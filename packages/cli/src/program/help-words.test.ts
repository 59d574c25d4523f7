import { describe, expect, test } from 'vitest';
import { allCommands } from '../commands/all-commands.ts';
import { helpWords, namedBy } from './help-words.ts';

const wordsOf = (line: string) => helpWords(line.split(' ').filter(Boolean), allCommands).join(' ');

describe('help may stand before or between the words of a command', () => {
  test.each(allCommands.map(({ name }) => name))('help %s', (name) => {
    expect(wordsOf(`help ${name}`)).toBe(`${name} --help`);
    const [noun, verb] = name.split(' ');
    if (verb !== undefined) expect(wordsOf(`${noun} help ${verb}`)).toBe(`${name} --help`);
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
    expect(wordsOf(line)).toBe(words);
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
