/**
 * The forms in which a secret may be written: as it is, line by line, as JSON, in a URL and in base64. They come in the order of how
 * likely they are, so that what has no room in a mask is what would be missed least.
 */
import { MASKED_LENGTH_MIN } from '@carillon/domain';

type FormsOf = (text: string) => string[];

/** One kind of forms of one text. Made only when it is asked for: of a large text each costs time. */
export interface FormGroup {
  /** No form of the group is much shorter. */
  readonly length: number;
  forms(): string[];
}

/** A larger text is not to be expected in every spelling of a URL or of JSON. */
const ALL_SPELLINGS_LENGTH_MAX = 1024;

/** Values and their lines as they are come first, the small ones before the large ones. */
export function* formGroups(values: readonly string[]): Generator<FormGroup> {
  const wholes = [...new Set(values)].sort((a, b) => a.length - b.length);
  const known = new Set(wholes);
  const lines: string[] = [];
  for (const value of wholes) {
    // Programs print a key of many lines line by line.
    for (const line of value.split(/\r?\n/)) {
      if (line.length < MASKED_LENGTH_MIN || known.has(line)) continue;
      known.add(line);
      lines.push(line);
    }
  }
  const asItIs = (text: string) => [text];
  yield* groupsOf(wholes, [asItIs]);
  yield* groupsOf(lines, [asItIs]);
  yield* groupsOf(wholes, [jsonForms, base64Forms, urlForms]);
  yield* groupsOf(lines, [jsonForms, base64Forms, urlForms]);
}

function* groupsOf(texts: readonly string[], kinds: readonly FormsOf[]): Generator<FormGroup> {
  for (const formsOf of kinds)
    for (const text of texts) yield { length: text.length, forms: () => formsOf(text) };
}

/** Within JSON, and within JSON that is a string of JSON. */
function jsonForms(text: string): string[] {
  const inJson = (form: string) => JSON.stringify(form).slice(1, -1);
  const once = inJson(text);
  if (text.length > ALL_SPELLINGS_LENGTH_MAX) return [once];
  const ascii = once.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [once, ascii, inJson(once), once.replaceAll('/', '\\/')];
}

function urlForms(text: string): string[] {
  const encoded = encodeURIComponent(text.toWellFormed());
  if (text.length > ALL_SPELLINGS_LENGTH_MAX) return [encoded];
  const strict = encoded.replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const forms = [
    encoded,
    strict,
    encodeURI(text.toWellFormed()),
    encoded.replaceAll('%2F', '/'),
    strict.replaceAll('%20', '+'),
  ];
  return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

const BASE64_BITS = 6;

/** At each of the three offsets that it may have within what is encoded, without the characters that its neighbours change. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const from = Math.ceil((offset * 8) / BASE64_BITS);
    const until = Math.floor(((offset + bytes.length) * 8) / BASE64_BITS);
    const form = encoded.slice(from, until);
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
