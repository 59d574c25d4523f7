import { describe, expect, test } from 'vitest';
import { offeredAs, readPlugin } from './handler-plugin.ts';

const run = () => 'done';

describe('a handler as a worker offers it', () => {
  test('a function takes any payload', () => {
    expect(offeredAs('report', run)).toEqual({
      ...{ name: 'report', description: undefined, parameters: undefined, origin: 'program', run },
    });
  });

  test('a plugin says what it takes, as JSON Schema', () => {
    const parameters = { type: 'object', required: ['url'] };
    expect(readPlugin({ name: 'resize', description: 'Resizes.', parameters, run }, 'plugin')).toEqual({
      ...{ name: 'resize', description: 'Resizes.', origin: 'plugin', run },
      parameters: JSON.stringify(parameters),
    });
  });

  test('what can write itself as JSON Schema is asked to', () => {
    const parameters = { toJSONSchema: () => ({ type: 'object' }) };
    expect(readPlugin({ name: 'resize', parameters, run }, 'plugin').parameters).toBe('{"type":"object"}');
  });

  test('a plugin is offered under the name that the program gives it', () => {
    expect(offeredAs('mine', { name: 'theirs', run })).toMatchObject({ name: 'mine', origin: 'program' });
  });
});

test.each([
  ['nothing', undefined, /an object with a name and a function/],
  ['a text', 'resize', /an object with a name and a function/],
  ['no name', { run }, /the name of a handler has 1 to 100/],
  ['a name with a space', { name: 'a b', run }, /the name of a handler has 1 to 100/],
  ['a long name', { name: 'a'.repeat(101), run }, /the name of a handler has 1 to 100/],
  ['no function', { name: 'resize' }, /"resize" has no function "run"/],
  ['a number as description', { name: 'resize', description: 3, run }, /description of the handler "resize"/],
  ['a text as schema', { name: 'resize', parameters: 'object', run }, /must be a JSON Schema, as an object/],
  ['a list as schema', { name: 'resize', parameters: [], run }, /must be a JSON Schema, as an object/],
  [
    'a schema that is too large',
    { name: 'resize', parameters: { description: 'x'.repeat(70_000) }, run },
    /70018 bytes of JSON; at most 65536/,
  ],
])('%s is refused with the reason', (_, given, reason) => {
  expect(() => readPlugin(given, 'plugin')).toThrow(reason);
});
