/**
 * JSON values as YAML, in the part of YAML 1.2 that every reader agrees on: block maps and lists, and double-quoted texts
 * wherever a plain one could be read as anything else (no, 1e3, 2027-03-01).
 */

/** One document, without a line break at its end. */
export function renderYaml(value: unknown): string {
  // As JSON.stringify would see it: without what is undefined, with dates as texts.
  return block(JSON.parse(JSON.stringify(value ?? null)) as Json, '').join('\n');
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

function block(value: Json, indent: string): string[] {
  const inline = scalar(value);
  if (inline !== undefined) return [`${indent}${inline}`];
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return value.flatMap((item) => {
      const [first = '', ...rest] = block(item, inner);
      return [`${indent}- ${first.slice(inner.length)}`, ...rest];
    });
  return Object.entries(value as Record<string, Json>).flatMap(([name, item]) => {
    const itemInline = scalar(item);
    const head = `${indent}${textOf(name)}:`;
    return itemInline === undefined ? [head, ...block(item, inner)] : [`${head} ${itemInline}`];
  });
}

/** What fits on one line; undefined for a map or a list that holds something. */
function scalar(value: Json): string | undefined {
  if (typeof value === 'string') return textOf(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Object.keys(value).length > 0) return undefined;
  return Array.isArray(value) ? '[]' : '{}';
}

/** Words of letters, with marks inside that mean nothing to YAML. */
const PLAIN = /^[A-Za-z_][\w./@-]*( [\w./@-]+)*$/;
const OTHER_MEANING = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

function textOf(text: string): string {
  // A double-quoted text of YAML is one of JSON, but for three line breaks of Unicode that JSON leaves as they are.
  if (!PLAIN.test(text) || OTHER_MEANING.test(text))
    return JSON.stringify(text).replace(
      /[\u0085\u2028\u2029\ufeff]/g,
      (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  return text;
}
