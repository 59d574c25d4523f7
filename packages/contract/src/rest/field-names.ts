/**
 * One spelling for every field: snake_case, whatever the caller wrote. Knows the camelCase spelling of each field and the
 * older names some clients use; an unknown field is refused, and so are two spellings of the same one.
 */
import { Refusal } from '@carillon/domain';
import { nearestWord } from '../nearest-word.ts';

export interface FieldSet {
  readonly names: readonly string[];
  /** Other names of the same fields, in snake_case. */
  readonly aliases?: Readonly<Record<string, string>>;
}

export type Body = Readonly<Record<string, unknown>>;

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** within: the name of the object that holds the fields, for messages. */
export function spellFields(body: Body, fields: FieldSet, within?: string): Body {
  // Nearly every body is spelled as it is answered; then there is nothing to translate, and no two spellings to collide.
  const keys = Object.keys(body);
  if (keys.every((key) => fields.names.includes(key))) return body;
  // Nothing is inherited, so a field called "constructor" is unknown like any other.
  const spelled: Record<string, unknown> = Object.create(null);
  const writtenAs = new Map<string, string>();
  for (const written of keys) {
    const name = fieldNamed(written, fields);
    if (name === undefined) throw unknownField(written, fields, within);
    const earlier = writtenAs.get(name);
    if (earlier !== undefined) {
      const message = `${earlier} and ${written} are the same field; give only one of them.`;
      throw new Refusal('field_conflict', message, { field: pathOf(name, within) });
    }
    writtenAs.set(name, written);
    spelled[name] = body[written];
  }
  return spelled;
}

function fieldNamed(written: string, { names, aliases = {} }: FieldSet): string | undefined {
  const snake = /^[a-z]+([A-Z][a-z]*)+$/.test(written)
    ? written.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : written;
  if (names.includes(snake)) return snake;
  return Object.hasOwn(aliases, snake) ? aliases[snake] : undefined;
}

function unknownField(
  written: string,
  { names, aliases = {} }: FieldSet,
  within: string | undefined,
): Refusal {
  const shown = written.slice(0, 64).toWellFormed().replaceAll('\u0000', '\ufffd');
  const nearest = nearestWord(written, [...names, ...Object.keys(aliases)]);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  return new Refusal('field_unknown', `There is no field "${shown}".${hint}`, {
    field: pathOf(shown, within),
  });
}

function pathOf(name: string, within: string | undefined): string {
  return within === undefined ? name : `${within}.${name}`;
}
