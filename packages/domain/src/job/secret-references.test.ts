import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSecretName } from '../access/secret.ts';
import {
  holdsReferences,
  meansSecrets,
  namesSecrets,
  readSecretNames,
  refuseSpacedReferences,
  replaceSecrets,
  unknownSecrets,
} from './secret-references.ts';

describe('references to secrets', () => {
  it('are found once each, wherever they stand in the JSON text', () => {
    const payload = JSON.stringify({
      a: 'x{{secrets.one}}y',
      'k{{secrets.two}}': ['{{secrets.one}}{{secrets.a.b_c-d}}'],
    });
    expect(readSecretNames(payload)).toEqual(['one', 'two', 'a.b_c-d']);
    expect(namesSecrets(payload)).toBe(true);
  });

  it.each([
    '{{secrets.}}',
    '{{secrets.A}}',
    '{{secrets.a',
    '{{secrets.a }}',
    '{{secrets.a-}}',
    `{{secrets.${'a'.repeat(65)}}}`,
  ])('%s is refused', (text) => {
    expect(() => readSecretNames(JSON.stringify({ text }))).toThrow('names no secret');
  });

  it.each(['{{ secrets.x }}', 'Bearer {{  secrets.x}}', '{{ !secrets.x }}'])(
    '%s is refused before it is stored',
    (text) => {
      const payload = JSON.stringify({ text });
      expect(meansSecrets(payload)).toBe(true);
      expect(() => refuseSpacedReferences(payload)).toThrow('write {{secrets.x}} without spaces');
    },
  );

  it.each(['{{!secrets.x }}', '{{secrets.x}}', '{{ user.secrets.x }}', '{ secrets.x }'])(
    '%s is not refused for its spaces',
    (text) => {
      expect(() => refuseSpacedReferences(JSON.stringify({ text }))).not.toThrow();
    },
  );

  it('that are escaped name nothing, and become the text itself', () => {
    const payload = '{"a":"{{!secrets.one}} {{!secrets.","b":"{{ secrets.x }}"}';
    expect(readSecretNames(payload)).toEqual([]);
    expect([namesSecrets(payload), holdsReferences(payload)]).toEqual([false, true]);
    expect(replaceSecrets(payload, () => 'v')).toBe(
      '{"a":"{{secrets.one}} {{secrets.","b":"{{ secrets.x }}"}',
    );
  });

  it('are replaced by any value so that the rest stays as it was', () => {
    const text = fc.string({ unit: 'binary' }).filter((part) => !part.includes('{{'));
    fc.assert(
      fc.property(text, text, fc.string({ unit: 'binary' }), (before, after, value) => {
        const payload = JSON.stringify({ a: `${before}{{secrets.x}}${after}`, b: 1 });
        const replaced = JSON.parse(replaceSecrets(payload, () => value)) as unknown;
        expect(replaced).toEqual({ a: `${before}${value}${after}`, b: 1 });
      }),
    );
  });

  it('a value that looks like a reference is not replaced again', () => {
    expect(replaceSecrets('"{{secrets.a}}"', () => '{{secrets.b}}')).toBe('"{{secrets.b}}"');
  });

  it('that are unknown are named, a few of many', () => {
    expect(unknownSecrets(['a'], 'ops').message).toBe(
      'There is no secret a in the namespace ops, and the payload names it.',
    );
    const { message } = unknownSecrets(['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'ops');
    expect(message).toContain('a, b, c, d, e, and 2 more');
  });
});

it.each([
  ['a', true],
  ['a.b_c-9', true],
  ['a'.repeat(64), true],
  ['', false],
  ['a'.repeat(65), false],
  ['A', false],
  ['a/b', false],
  ['_a', false],
])('%j as the name of a secret: %s', (name, is) => {
  expect(isSecretName(name)).toBe(is);
});
