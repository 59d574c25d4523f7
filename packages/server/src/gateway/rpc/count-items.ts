/**
 * How many things a message holds, found without reading it: a message of two bytes for each may hold millions in a few MiB, and
 * reading that many takes seconds in which nobody else is served. Counts up to the limit, and no further.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';

export interface ItemLimits {
  /** Messages, texts and fields that nobody knows, at every depth. */
  readonly items: number;
  /** Numbers in lists. */
  readonly numbers: number;
}

/** Shorter messages hold less than any limit. */
export function isWorthCounting(bytes: number, { items, numbers }: ItemLimits): boolean {
  return bytes > Math.min(items, numbers);
}

export function exceedsItems(desc: DescMessage, bytes: Uint8Array, limits: ItemLimits): boolean {
  const left = { items: limits.items, numbers: limits.numbers };
  count({ desc, bytes, from: 0, until: bytes.length }, left);
  return left.items < 0 || left.numbers < 0;
}

const WIRE = { varint: 0, bits64: 1, bytes: 2, bits32: 5 } as const;

interface Part {
  readonly desc: DescMessage;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly until: number;
}

/** What is not well-formed ends it: whoever reads the message refuses it. */
function count({ desc, bytes, from, until }: Part, left: { items: number; numbers: number }): void {
  const fields = fieldsOf(desc);
  let at = from;
  while (at < until && left.items >= 0 && left.numbers >= 0) {
    let [tag, shift] = [0, 0];
    let byte: number;
    do {
      byte = bytes[at++]!;
      tag += (byte & 0x7f) * 2 ** shift;
      shift += 7;
    } while (byte >= 0x80 && at < until && shift < 35);
    const field = fields.get(Math.floor(tag / 8));
    if (field === undefined) left.items -= 1;
    switch (tag % 8) {
      case WIRE.varint:
        while (at < until && bytes[at]! >= 0x80) at += 1;
        at += 1;
        if (field?.fieldKind === 'list') left.numbers -= 1;
        break;
      case WIRE.bits64:
        at += 8;
        break;
      case WIRE.bits32:
        at += 4;
        break;
      case WIRE.bytes: {
        let length = 0;
        shift = 0;
        do {
          byte = bytes[at++]!;
          length += (byte & 0x7f) * 2 ** shift;
          shift += 7;
        } while (byte >= 0x80 && at < until && shift < 35);
        const end = at + length;
        if (end > until) return;
        if (field) countIn(field, { bytes, from: at, until: end }, left);
        at = end;
        break;
      }
      default:
        return;
    }
  }
}

function countIn(field: DescField, part: Omit<Part, 'desc'>, left: { items: number; numbers: number }): void {
  if (field.message) {
    left.items -= 1;
    count({ ...part, desc: field.message }, left);
  } else if (field.fieldKind === 'map') left.items -= 1;
  else if (field.fieldKind === 'list') {
    if (isText(field)) left.items -= 1;
    // In one piece: every number ends with a byte below 128.
    else for (let i = part.from; i < part.until; i += 1) if (part.bytes[i]! < 0x80) left.numbers -= 1;
  }
}

const STRING = 9;
const BYTES = 12;

function isText(field: DescField): boolean {
  return field.scalar === STRING || field.scalar === BYTES;
}

const known = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  let fields = known.get(desc);
  if (!fields) {
    fields = new Map(desc.fields.map((field) => [field.number, field]));
    known.set(desc, fields);
  }
  return fields;
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = Array.from('"\\,{[', (mark) => mark.charCodeAt(0));

/** The same of JSON: what begins or separates anything, outside of texts. */
export function exceedsItemsInJson(bytes: Uint8Array, { items }: ItemLimits): boolean {
  let left = items;
  let isInText = false;
  for (let i = 0; i < bytes.length && left >= 0; i += 1) {
    const byte = bytes[i];
    if (isInText && byte === BACKSLASH) i += 1;
    else if (byte === QUOTE) isInText = !isInText;
    else if (!isInText && (byte === COMMA || byte === BRACE || byte === BRACKET)) left -= 1;
  }
  return left < 0;
}
