/**
 * Keeps secrets out of what is shown: credentials are taken out of the copies that the audit log keeps, and callers without the
 * permission payloads.read see the shape of a payload, none of its values, and of errors no detail. What is stored of a job, and what is compared for
 * idempotency, stays as it was sent.
 */
import type { RecordedEvent } from '../event/event.ts';
import type { DeadLetter, RunProgress } from '../run/run.ts';
import { plainEndOf, plainPartOf } from '../run/run-errors.ts';
import { type Caller, EVERYWHERE, may, type Owner } from './caller.ts';

export const REDACTED = '[redacted]';
export const HIDDEN = '[hidden]';

/** Endings of names, in small letters without - and _: x-api-key, apiKey and api_key are one. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'password',
  'passwd',
  'passphrase',
  'pwd',
  'secret',
  'token',
  'apikey',
  'accesskey',
  'privatekey',
  'secretkey',
  'credential',
  'credentials',
  'signature',
] as const;

export type Redact = (json: string) => string;

/** names: besides those above. The text is parsed only where one of the names, or a URL with a password, stands in it. */
export function redactor(names: readonly string[] = []): Redact {
  const endings = [...SECRET_NAMES, ...names.map(plain)].filter((name) => name !== '');
  const spelled = endings.map((name) =>
    [...name].map((letter) => letter.replace(/\W/, '\\$&')).join('[-_]?'),
  );
  const mention = new RegExp(`${spelled.join('|')}|://[^/"\\s]*@|bearer |basic `, 'i');
  const isSecret = (name: string) => {
    const told = plain(name);
    return endings.some((ending) => told.endsWith(ending));
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return redactText(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        isSecret(name) && isValue(inner) ? REDACTED : walk(inner),
      ]),
    );
  };
  /** A text may itself be JSON, such as the body of a request. */
  const redactText = (text: string): string => {
    if (!mention.test(text)) return text;
    if (/^\s*[[{]/.test(text)) {
      try {
        return JSON.stringify(walk(JSON.parse(text)));
      } catch {
        // It only looks like it.
      }
    }
    return redactParts(text, isSecret);
  };
  return (json) => (mention.test(json) ? JSON.stringify(walk(JSON.parse(json))) : json);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** That there is a password, or none, is no secret. */
function isValue(value: unknown): boolean {
  return value !== null && typeof value !== 'boolean';
}

/**
 * The user and password of a URL, parameters whose names tell of a secret, and what follows Bearer and Basic. The name of a parameter
 * ends where the next may begin: otherwise a text of nothing but separators would be searched as often as it is long.
 */
function redactParts(text: string, isSecret: (name: string) => boolean): string {
  return text
    .replaceAll(/(:\/\/)[^/?#\s@]*@/g, `$1${REDACTED}@`)
    .replaceAll(/\b(bearer|basic) +[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`)
    .replaceAll(/((?:^|[?&;])([^=&#?;\s]+)=)[^&#\s]*/g, (whole, head: string, name: string) =>
      isSecret(name) ? `${head}${REDACTED}` : whole,
    );
}

/** With the names of all members and none of their values. Values that follow each other in a list are shown as one: it gets no longer. */
export function shapeOf(json: string): string {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      return value.map(walk).filter((shape, i, shapes) => shape !== HIDDEN || shapes[i - 1] !== HIDDEN);
    }
    if (typeof value !== 'object' || value === null) return HIDDEN;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, walk(inner)]));
  };
  return json === '{}' ? json : JSON.stringify(walk(JSON.parse(json)));
}

/** The job as the caller may see it. */
export function jobShownTo<Shown extends Owner & { readonly payload: string }>(
  caller: Caller,
  job: Shown,
): Shown {
  return may(caller, 'payloads.read', job) ? job : { ...job, payload: shapeOf(job.payload) };
}

/** What of a run, or of the dead letter or event about it, may hold as much as a payload. */
interface Ended {
  readonly result?: string | undefined;
  readonly error: string | undefined;
  readonly progress?: RunProgress | undefined;
}

/** Runs of a job as the caller may see them: without what a handler answered, or quoted in its error. Job unknown: of many jobs. */
export function runsShownTo<Shown extends Ended>(
  caller: Caller,
  job: Owner | undefined,
  runs: readonly Shown[],
): Shown[] {
  const shows = may(caller, 'payloads.read', job ?? { namespace: EVERYWHERE });
  return shows ? [...runs] : runs.map(outlineOf);
}

function outlineOf<Shown extends Ended>(run: Shown): Shown {
  const { result, error, progress } = run;
  const message = progress?.message;
  if (result === undefined && error === undefined && message === undefined) return run;
  return {
    ...run,
    ...(result !== undefined && { result: JSON.stringify(HIDDEN) }),
    ...(error !== undefined && { error: errorOutline(error) }),
    ...(message !== undefined && { progress: { ...progress, message: HIDDEN } }),
  };
}

function errorOutline(error: string): string {
  const plain = plainPartOf(error);
  if (plain === undefined) return HIDDEN;
  return plain === error ? error : `${plain}: ${HIDDEN}${plainEndOf(error)}`;
}

/** Letters name their owner themselves; of a deleted job nobody is known. */
export function letterShownTo(caller: Caller, letter: DeadLetter): DeadLetter {
  const { namespace, userId } = letter;
  return runsShownTo(caller, namespace === undefined ? undefined : { namespace, userId }, [letter])[0]!;
}

export function eventShownTo(caller: Caller, event: RecordedEvent): RecordedEvent {
  const { run, job } = event;
  if (run === undefined || (run.error === undefined && run.progress === undefined)) return event;
  return { ...event, run: runsShownTo(caller, job, [run])[0]! };
}

/** What a run was asked for with is as secret as the payload that it is merged over. */
export function inputShownTo<Input extends object>(
  caller: Caller,
  job: Owner | undefined,
  input: Input | undefined,
): Input | undefined {
  if (input === undefined || may(caller, 'payloads.read', job ?? { namespace: EVERYWHERE })) return input;
  return JSON.parse(shapeOf(JSON.stringify(input))) as Input;
}
