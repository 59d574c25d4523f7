/**
 * A refusal of the server in words for people at the page. The server's own also name requests, fields and headers of the interface:
 * programs need those, and people at the page cannot use them.
 */

interface Refusal {
  readonly code: string;
  readonly message?: string | undefined;
  readonly fix?: string | undefined;
}

const LATER = 'Try again in a moment.';

/** Where the advice is about the request that the page made. Undefined: what is wrong says enough. */
const OWN: Readonly<Record<string, string | undefined>> = {
  field_invalid: undefined,
  field_missing: undefined,
  field_conflict: undefined,
  forbidden: 'Ask an administrator for a role that allows it.',
  unauthorized: 'Sign in again.',
  csrf_rejected: 'Load the page again.',
  password_required: 'Type your own password, too.',
  version_mismatch: 'It was changed meanwhile: load the page again.',
  version_not_recorded: 'Choose another version, or edit the job.',
  sort_too_wide: 'Narrow the list by a filter, or choose another order.',
  fire_not_found: 'Choose one of the next fires.',
  job_already_finished: 'Create a new job, or run this one now.',
  rate_limited: LATER,
  overloaded: LATER,
  storage_unavailable: LATER,
  internal: 'Report it with the number of the request.',
};

const NO_ID = /^The id of an? .* is a UUID/;
const REQUEST = /\b(GET|POST|PUT|PATCH|DELETE) \/api/;

/** What to do about it. */
export function fixWords({ code, message, fix }: Refusal): string | undefined {
  if (Object.hasOwn(OWN, code)) return OWN[code];
  if (fix === undefined || !REQUEST.test(fix)) return fix;
  // What can be the id of nothing was never there.
  if (code.endsWith('_not_found') && message && NO_ID.test(message)) return undefined;
  if (code.endsWith('_not_found')) return 'It may have been removed meanwhile.';
  return (
    fix
      .split(/(?<=\.) /)
      .flatMap(withoutRequests)
      .join(' ') || undefined
  );
}

/** A sentence without the parts that name a request; nothing where it begins with one. */
function withoutRequests(sentence: string): readonly string[] {
  const [first = '', ...rest] = sentence.replace(/\.$/, '').split(/(?=[:;,] )/);
  if (REQUEST.test(first)) return [];
  return [`${[first, ...rest.filter((part) => !REQUEST.test(part))].join('')}.`];
}

/** At the field itself, which has a label, without the name that the interface has for it. */
export function wordsAtField(message: string, field: string): string {
  return message.startsWith(`${field} `) ? `This ${message.slice(field.length + 1)}` : message;
}
