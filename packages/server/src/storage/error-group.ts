/**
 * Which errors are alike: those of one handler whose texts differ only in ids, numbers, times, and paths and queries of addresses have one
 * fingerprint. What is compared is bounded, whatever a handler throws.
 */
import { createHash, createHmac } from 'node:crypto';
import { Cache } from '@carillon/domain';

/** Short, because the patterns below take time that grows with the square of a text that is made for it. */
const COMPARED_CHARS = 200;
/** What is shown of an error of the group. */
const MESSAGE_CHARS = 300;
const FINGERPRINT_CHARS = 16;

/** Where the errors of an hour are counted that have no group of their own. */
export const OTHER_ERRORS = 'other';

const ADDRESS = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>)\]]+/gi;

/** In this order: an id may hold numbers. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b/g, '<time>'],
  [/\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\b/g, '<time>'],
  [/\b0x[0-9a-f]+\b/gi, '<hex>'],
  // Long enough that it is no word: with digits and letters, from a hash, a token or an id.
  [/\b(?=[0-9a-z_-]*\d)(?=[0-9a-z_-]*[a-z])[0-9a-z][0-9a-z_-]{11,}\b/gi, '<id>'],
  [/\d+(?:[.,]\d+)*/g, '<n>'],
  [/\s+/g, ' '],
];

/** The text without what varies from run to run. The hosts and ports of its addresses follow it: they say what has failed. */
export function patternOf(error: string): string {
  const hosts: string[] = [];
  let text = error.slice(0, COMPARED_CHARS).replace(ADDRESS, (address) => {
    hosts.push(URL.parse(address)?.host.toLowerCase() ?? '');
    return '<url>';
  });
  for (const [varying, placeholder] of VARYING) text = text.replace(varying, placeholder);
  return [text.trim(), ...hosts].join(' ');
}

export interface ErrorGroup {
  readonly fingerprint: string;
  /** The beginning of one of its errors. */
  readonly message: string;
}

/**
 * As callers see it: who reads it cannot check a guess of the error, nor find errors of other namespaces that are like their own. key: a
 * secret of the installation.
 */
export function shownFingerprint(key: string, of: { namespace: string; fingerprint: string }): string {
  if (of.fingerprint === OTHER_ERRORS) return OTHER_ERRORS;
  return createHmac('sha256', key)
    .update(`${of.namespace}\n${of.fingerprint}`)
    .digest('hex')
    .slice(0, FINGERPRINT_CHARS);
}

/** Runs that fail together mostly fail alike. */
const groups = new Cache<string, ErrorGroup>({ entriesMax: 2_000 });

export function errorGroupOf(handler: string, error: string): ErrorGroup {
  const compared = error.slice(0, COMPARED_CHARS);
  return groups.getOrCompute(`${handler}\n${compared}`, () => ({
    fingerprint: createHash('sha256')
      .update(`${handler}\n${patternOf(compared)}`)
      .digest('hex')
      .slice(0, FINGERPRINT_CHARS),
    message: error.slice(0, MESSAGE_CHARS),
  }));
}
