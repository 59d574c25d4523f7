import { MASKED_LENGTH_MIN } from '@carillon/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PREFIX_BYTES } from './form-automaton.ts';
import { SecretMask } from './secret-mask.ts';

const SECRET = 'p/ss+w"rd é?1';
const masked = (text: string, ...secrets: string[]) => SecretMask.of(secrets)!.text(text);

function inPieces(text: string, cuts: readonly number[], secrets: readonly string[]): string[] {
  const stream = SecretMask.of(secrets)!.stream();
  const bytes = Buffer.from(text);
  const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b);
  const shown = ends.map((end, i) => stream.push(bytes.subarray(ends[i - 1] ?? 0, end)));
  return [...shown, stream.end()].map((part) => Buffer.from(part ?? []).toString('latin1'));
}

describe('SecretMask', () => {
  it('shows nothing of a secret at the end of a text that was cut', () => {
    const mask = SecretMask.of([SECRET, 'p/ss+w"rd and another'])!;
    for (let length = 1; length <= SECRET.length; length += 1)
      expect(mask.cutText(`before ${SECRET.slice(0, length)}`)).toBe('before ***');
    expect(mask.cutText(`${SECRET}, before`)).toBe('***, before');
    expect(mask.cutText(`${SECRET}p/s`)).toBe('***');
  });

  it('has nothing to do for values that are too short', () => {
    expect(SecretMask.of(undefined)).toBeUndefined();
    expect(SecretMask.of(['1234567'])).toBeUndefined();
    expect(SecretMask.of(['12345678'])).toBeDefined();
  });

  it.each([
    ['as it is', SECRET],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
    ['in JSON of ASCII characters', 'p/ss+w\\"rd \\u00e9?1'],
    ['in JSON with escaped slashes', 'p\\/ss+w\\"rd é?1'],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL, in small letters', encodeURIComponent(SECRET).toLowerCase()],
    ['in a path', 'p/ss%2Bw%22rd%20%C3%A9%3F1'],
    ['in the address of a call', 'p/ss+w%22rd%20%C3%A9?1'],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
  ])('masks a secret %s', (_, form) => {
    const text = masked(`before ${form} after`, SECRET);
    expect(text).toMatch(/^before \*\*\*.{0,2} after$/);
  });

  it.each(['', 'u', 'us', 'user:', 'user:x'])(
    'masks a secret within base64 of more (%j before it)',
    (prefix) => {
      const encoded = Buffer.from(`${prefix}${SECRET}and more`).toString('base64');
      expect(masked(encoded, SECRET)).toContain('***');
      const left = masked(encoded, SECRET).replace('***', '');
      expect(Buffer.byteLength(left)).toBeLessThanOrEqual(
        encoded.length - Math.floor((Buffer.byteLength(SECRET) * 4) / 3) + 2,
      );
    },
  );

  it('masks the lines of a secret of several lines', () => {
    const key = '-----BEGIN-----\nMIIEvQIBADANBg\nab\n-----END KEY-----\n';
    expect(masked('> MIIEvQIBADANBg\n> ab\n', key)).toBe('> ***\n> ab\n');
    expect(masked(`[${key}]`, key)).toBe('[***]');
  });

  it('masks what overlaps once, and the longer of two that begin alike', () => {
    expect(masked('abcdefghijkl!', 'abcdefghij', 'efghijkl')).toBe('***!');
    expect(masked('abcdefghij!', 'abcdefgh', 'abcdefghij')).toBe('***!');
    expect(masked('abcdefghiX', 'abcdefgh', 'abcdefghij')).toBe('***iX');
    expect(masked('aaaaaaaaaaaa', 'aaaaaaaa')).toBe('***');
  });

  it('leaves other text as it is, also what only begins like a secret', () => {
    expect(masked('abcdefg abcdefgX', 'abcdefgh')).toBe('abcdefg abcdefgX');
  });

  it('shows at once what cannot be a secret, and keeps back what may become one', () => {
    const stream = SecretMask.of(['abcdefgh'])!.stream();
    const push = (text: string) => Buffer.from(stream.push(Buffer.from(text)) ?? []).toString();
    expect(push('a line\n')).toBe('a line\n');
    expect(push('token abc')).toBe('token ');
    expect(push('defg')).toBe('');
    expect(push('h\n')).toBe('***\n');
    expect(push('abc')).toBe('');
    expect(Buffer.from(stream.end() ?? []).toString()).toBe('abc');
  });

  it('finds secrets wherever output is cut, keeps back no more than the longest, and shows the rest unchanged', () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', 'c'),
      minLength: MASKED_LENGTH_MIN,
      maxLength: 12,
    });
    const secrets = fc.array(letters, { minLength: 1, maxLength: 3 });
    const words = fc.array(
      fc.oneof(fc.nat(2), fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-'), maxLength: 9 })),
    );
    fc.assert(
      fc.property(secrets, words, fc.array(fc.nat(80)), (values, parts, cuts) => {
        const text = parts.map((part) => (typeof part === 'number' ? (values[part] ?? '') : part)).join('');
        const pieces = inPieces(text, cuts, values);
        const shown = pieces.join('');
        // Of two that lie side by side each may have a mark of its own.
        expect(shown.replaceAll(/\*+/g, '***')).toBe(maskedSlowly(text, values));
        // The longest form: twelve letters in base64.
        expect(pieces.at(-1)!.length).toBeLessThanOrEqual(16);
        for (const value of values) expect(shown).not.toContain(value);
      }),
    );
  });
});

describe('large secrets', () => {
  const SIZE_MAX = 4 * 1024 * 1024;
  /** Each character has another spelling in a URL. */
  const large = (seed: number) =>
    Array.from(
      { length: 65_000 },
      (_, i) => '{|}^<>[]`'[(Math.imul(i + seed, 2_654_435_761) >>> 16) % 9],
    ).join('');
  const lineByLine = Array.from({ length: 5_000 }, (_, i) => `{"${i * 7_919}": \u0001}`).join('\n');

  it.each([
    ['of one line', Array.from({ length: 15 }, (_, i) => `${i}/!' ${large(i)}`)],
    ['of many lines', [lineByLine]],
    ['that are many', Array.from({ length: 1_000 }, (_, i) => `\u0001/é ${i * 7_919}\n`.repeat(4))],
  ])('%s get a mask of bounded size', (_, secrets) => {
    expect(SecretMask.of(secrets)!.automaton.bytes).toBeLessThan(SIZE_MAX);
  });

  it('share one mask between runs', () => {
    const mask = SecretMask.of([large(1), large(2)]);
    expect(SecretMask.of([large(2), large(1)])).toBe(mask);
    expect(SecretMask.of([large(2)])).not.toBe(mask);
  });

  it.each([
    ['as it is', (text: string) => text],
    ['in JSON', (text: string) => JSON.stringify(text).slice(1, -1)],
    ['in base64', (text: string) => Buffer.from(text).toString('base64').slice(0, -4)],
  ])('are masked whole, %s, wherever output is cut', (_, formOf) => {
    const secret = `{"a":"${large(3)}"}`;
    const text = `before ${formOf(secret)} after`;
    expect(masked(text, secret)).toMatch(/^before \*\*\*\S{0,4} after$/);
    const cuts = Array.from({ length: 900 }, (_, i) => i * 97);
    expect(inPieces(text, cuts, [secret]).join('')).toMatch(/^before \*\*\*\S{0,4} after$/);
  });

  it('are masked line by line', () => {
    const [first = '', ...rest] = lineByLine.split('\n');
    expect(masked(`${first} and ${rest.at(-1)}!`, lineByLine)).toBe('*** and ***!');
  });

  it('keep back little, however they are written', () => {
    const stream = SecretMask.of([large(4)])!.stream();
    const shown = [...Buffer.from(large(4))].map((byte) => stream.push(Uint8Array.of(byte))?.length ?? 0);
    expect(shown.filter((length) => length > 0)).toEqual(['***'.length]);
    expect(stream.push(Buffer.from('after'))?.toString()).toBe('after');
  });

  it('that begin alike are told apart, and what agrees with one for long is masked as far as it does', () => {
    const begin = `c${'a'.repeat(PREFIX_BYTES)}`;
    const tail = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 });
    fc.assert(
      fc.property(
        fc.uniqueArray(tail, { minLength: 1, maxLength: 6 }),
        fc.array(tail, { maxLength: 6 }),
        fc.array(fc.nat(2_000)),
        (tails, said, cuts) => {
          const values = tails.map((rest) => `${begin}${rest}`);
          const text = said.map((rest) => `${begin}${rest}`).join('-');
          const slowly = said.map((rest) => {
            const agreed = Math.max(...tails.map((known) => commonLength(known, rest)));
            return `***${rest.slice(agreed)}`;
          });
          expect(inPieces(text, cuts, values).join('')).toBe(slowly.join('-'));
        },
      ),
    );
  });
});

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Letter by letter: masked is what lies within an occurrence of a secret. */
function maskedSlowly(text: string, values: readonly string[]): string {
  const ranges = values.flatMap((value) =>
    [...text].flatMap((_, start) =>
      text.startsWith(value, start) ? [{ start, end: start + value.length }] : [],
    ),
  );
  const letters = [...text].map((letter, at) =>
    ranges.some(({ start, end }) => start <= at && at < end) ? '*' : letter,
  );
  return letters.join('').replaceAll(/\*+/g, '***');
}
