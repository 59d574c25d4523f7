/** Every error in words for a person, and as an exit code. Only a bug shows its stack. */
import { CarillonError } from '@carillon/client';
import type { Connection } from './connection.ts';
import { CommandFailure, EXIT, type ExitCode, UsageError } from './errors.ts';
import { type Flags, longFlag } from './flags.ts';

export interface Explained {
  readonly message: string;
  readonly fix: string | undefined;
  readonly exitCode: ExitCode;
  /** For --json: what a program can act on. */
  readonly code: string;
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

/** `flags`: those of the command, where it is known. */
export function explainError(error: unknown, flags: Flags = {}): Explained {
  if (error instanceof CarillonError) {
    const { code, field, status, requestId } = error;
    return {
      message: messageOf(error, flags),
      fix: fixOf(error),
      exitCode: exitCodeOf(error),
      code,
      details: { field, status, request_id: requestId },
    };
  }
  if (error instanceof CommandFailure) {
    const [code, exitCode] =
      error instanceof UsageError ? (['usage', EXIT.usage] as const) : (['failed', EXIT.failed] as const);
    return { message: error.message, fix: error.fix, exitCode, code, details: {} };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { message, fix: undefined, exitCode: EXIT.failed, code: 'internal', details: {} };
}

/** Names the server where it matters which one was asked: when none answers, and when it does not know the caller. */
export function withServer(explained: Explained, asked: Connection | undefined): Explained {
  const { exitCode, code, fix } = explained;
  if (!asked) return explained;
  const { url, from, key, context } = asked;
  if (exitCode === EXIT.unreachable)
    return { ...explained, fix: `${fix ?? ''} The address comes from ${from}.`.trim() };
  if (code !== 'unauthorized') return explained;
  // What the server has to say of a key that it was given: that it is mistyped, that it has expired.
  const [who, why] =
    key === undefined ? ['You are not signed in', ''] : ['Your key is not accepted', ` ${explained.message}`];
  const message = `${who} at ${url}, which comes from ${from}.${why}`;
  if (context === undefined) return { ...explained, message };
  const again = `Sign in with \`carillon login --context ${context}\`, or give a key with --key (or CARILLON_KEY).`;
  const away = `To use another server: \`carillon context use <name>\`, or \`carillon context remove ${context}\` to go back to the server that runs in ./.carillon.`;
  return { ...explained, message, fix: `${again} ${away}` };
}

/** Names the field at fault together with its flag; and the request, where only the log of the server can help. */
function messageOf({ code, field, requestId, message }: CarillonError, flags: Flags): string {
  if (code === 'internal' && requestId !== undefined) return `${message} (request ${requestId})`;
  if (field === undefined) return message;
  const flag = code === 'field_conflict' ? undefined : flagOf(field, flags);
  const named = flag === undefined ? field : `${field} (${flag})`;
  return message.includes(field) ? message.replace(field, named) : `${named}: ${message}`;
}

/** The flag that sets a field under another name. */
function flagOf(field: string, flags: Flags): string | undefined {
  const [, found] = Object.entries(flags).find(([name, flag]) => (flag.field ?? name) === field) ?? [];
  const flag = found && longFlag(found);
  return flag === `--${field}` ? undefined : flag;
}

function fixOf({ code, field, fix, status, requestId, retryAfterMs }: CarillonError): string | undefined {
  if (code === 'time_invalid' && (field === 'since' || field === 'until'))
    return 'Write how long ago, such as 15m, 2h or 1d, or a time such as 2027-03-01T09:00:00Z.';
  // Not the server says so, but the command, which knows where it looked.
  if (status === 404 && requestId === undefined && fix !== undefined) return fix;
  return retryAfterMs === undefined
    ? (FIXES[code] ?? fix)
    : `Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
}

function exitCodeOf({ status, code }: CarillonError): ExitCode {
  if (code === 'url_invalid') return EXIT.usage;
  if (status === undefined) return EXIT.unreachable;
  if (status === 401 || status === 403) return EXIT.notAllowed;
  if (VALUE_REFUSED.has(status)) return EXIT.usage;
  return status === 404 ? EXIT.notFound : EXIT.failed;
}

/** What was given is wrong, whoever finds it: the server here, the command elsewhere. */
const VALUE_REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

const OTHER_VERSION =
  'Check that --url is the address of a Carillon server, without a path, and of the version of this command.';

/** The fix on a command line, where the one of the server is about requests and responses. */
export const FIXES: Readonly<Record<string, string>> = {
  body_not_json: 'Give a JSON object, or an array of them.',
  last_administrator: 'Make another user an administrator first: carillon users grant <user> admin',
  password_required:
    'Give the command again on a terminal, which asks for your password; a key of your own may instead have a shorter --expires-in.',
  key_changed: 'Somebody else rotated the key meanwhile: `carillon keys list` shows it as it is now.',
  content_type_unsupported: 'Use a carillon command of the version of the server: `carillon --version`.',
  body_too_large:
    'Give less at once, with large data kept elsewhere and a reference to it; or raise the setting body_limit_kb of the server.',
  request_malformed: OTHER_VERSION,
  request_too_slow: 'The connection is slow: try again.',
  headers_too_large: 'Use a shorter --key or --idempotency-key.',
  field_unknown: 'Remove it, or correct its spelling.',
  field_invalid: 'Correct it where it was given: in an option, an argument or a file.',
  field_missing: 'Give it, as an option or in the file.',
  field_conflict: 'Give only one of them.',
  time_invalid:
    'Write ISO 8601 with an offset, such as 2027-03-01T09:00:00Z, or without one and with --tz; for once, --in 2h says how long from now.',
  cron_invalid:
    'Write 5 fields (minute hour day month weekday) or 6 (second first), such as "0 9 * * 1-5", in quotes; `carillon preview` shows when it fires.',
  unauthorized:
    'Sign in with `carillon login`, or give a key with --key (or CARILLON_KEY) and its server with --url (or CARILLON_URL).',
  forbidden:
    'Ask an administrator for a role or a key that may do this; `carillon whoami` shows who you are and what you may.',
  sign_in_refused:
    'Check the name and the password. An administrator can set a new password and enable the user: `carillon users update`.',
  csrf_rejected:
    'Sign in with `carillon login`, or give a key with --key (or CARILLON_KEY) and its server with --url (or CARILLON_URL).',
  rate_limited: 'Wait a moment and try again.',
  job_not_found: '`carillon jobs list` shows the jobs you may see.',
  fire_not_found: 'Name one of the next fires with --at, or leave --at out for the next one.',
  version_not_recorded: '`carillon jobs versions <job>` lists those that are.',
  fire_passed: 'Choose a fire that is not due yet. `carillon runs cancel` stops what has started.',
  run_not_found: '`carillon runs list <job>` shows the runs of a job.',
  checkpoint_not_found: '`carillon runs show` says whether a run has one.',
  artifact_not_found: '`carillon runs artifacts <run>` shows them.',
  dead_letter_not_found: '`carillon dlq list` shows them.',
  namespace_not_found:
    '`carillon namespaces list` shows those you may see; `carillon namespaces create` makes one.',
  namespace_in_use:
    'Only one without jobs can be removed (`carillon jobs list --namespace`, `carillon jobs delete`), and default never.',
  user_not_found: '`carillon users list` shows them.',
  key_not_found: '`carillon keys list` shows them.',
  signing_key_not_found: '`carillon signing-keys list <namespace>` shows them.',
  keys_full:
    'Revoke keys that nobody uses: `carillon keys list --unused-since 30d` finds them, `carillon keys revoke <key>` ends them.',
  signing_keys_full: 'Delete one that receivers use no more: `carillon signing-keys delete <id>`.',
  secret_not_found: '`carillon secrets list` shows them.',
  secret_unknown: 'Set it first: `carillon secrets set <name>`, in the namespace of the job.',
  secrets_full: 'Delete those that no job names: `carillon secrets delete <name>`.',
  session_not_found: 'It has ended already.',
  handler_not_found: '`carillon handlers list` shows them.',
  worker_not_found: '`carillon workers` shows them.',
  method_not_allowed: OTHER_VERSION,
  route_not_found: OTHER_VERSION,
  version_mismatch: 'It was changed meanwhile: look at it with `carillon jobs show`, and try again.',
  job_already_finished: '`carillon jobs run` runs it again; `carillon jobs update` gives it a new schedule.',
  job_key_taken: 'Choose another key, or replace the job that has it with `carillon apply`.',
  job_changed: 'Look at it with `carillon jobs show`, and try again.',
  job_still_running: 'Its runs were asked to stop: try again when they have ended.',
  run_already_finished: 'Nothing is left to stop: `carillon runs show` tells how it ended.',
  run_not_finished: 'Wait until it has ended, or stop it with `carillon runs cancel`.',
  idempotency_key_reused: 'Give another --idempotency-key: this one made something else.',
  too_many_listeners: 'End one of the `carillon events -f` and --watch that run with this key.',
  overloaded: 'Wait a moment and try again.',
  storage_unavailable:
    'The database of the server does not answer: try again, or look at the log of the server.',
  internal: 'This is a mistake in the server: its log says more under the request id.',
  timed_out: 'Try again; `carillon status` shows how the server is doing.',
};
