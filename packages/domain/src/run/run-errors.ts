/**
 * The errors of runs: those that Carillon itself writes, which hold nothing of a payload, and how those of handlers begin. What a
 * handler throws may quote whatever it was given or answered, so callers who may not read payloads are told only what is recognised here.
 */
import { CHECKPOINT_BYTES_MAX, PROGRESS_MESSAGE_LENGTH_MAX } from './run.ts';

type Write = (value: string) => string;

export const RUN_ERRORS = {
  cancelled: () => 'cancelled while running',
  timedOut: (seconds) => `ran longer than ${seconds} s`,
  overdue: (seconds) => `ran longer than ${seconds} s, and its worker did not end it`,
  notOffered: (handler) => `this worker does not offer the handler "${handler}"`,
  nobodyOffers: (handler) => `no worker offers the handler "${handler}"; gave up after 24 hours`,
  startTimeout: () => 'waited longer than start_timeout_seconds',
  lost: (workerId) => `worker ${workerId} was lost while it held the run`,
  shutDown: () => 'the server was shut down',
  unheard: () => 'the database could not be reached in time',
  unknown: () => 'the database does not know of this run any more',
  givenUp: () => 'the worker was given up for dead',
  notTrusted: () => 'the worker had not been heard for too long to be sure that the run still was its own',
  takenBack: () => 'the run was taken back before it was called',
  checkpointTooLarge: (bytes) =>
    `The checkpoint has ${bytes} bytes; at most ${CHECKPOINT_BYTES_MAX} are kept. Save where to go on from, and keep the data itself elsewhere.`,
  messageTooLong: (length) =>
    `The message of the progress has ${length} characters; at most ${PROGRESS_MESSAGE_LENGTH_MAX} are shown. Shorten it, and write the rest to the log.`,
  notStored: () => 'the run ended, but its outcome could not be stored',
} satisfies Record<string, Write>;

/** Follows one of those above. */
export const DID_NOT_STOP = '; the handler did not stop';

/** How errors of the http handler begin; what follows quotes the address or the answer. */
export const CALL_ERRORS = {
  answered: 'the server answered',
  failed: 'failed:',
  notAllowed: 'are not allowed here:',
  notSigned: 'the request could not be signed',
  notJson: 'the payload is not valid JSON',
} as const;

/** How errors of the script handler begin; what follows quotes the script, its output or the payload. */
export const SCRIPT_ERRORS = {
  exited: (code: number) => `the script ended with exit code ${code}`,
  signalled: (signal: string) => `the script was ended by ${signal}`,
  outOfMemory: 'the script ran out of memory',
  outOfCpuTime: 'the script used more CPU time than it may',
  fileTooLarge: 'the script wrote a larger file than it may',
  reported: 'the script reported an error',
  notStarted: 'the script could not be started',
} as const;

const HOLE = '\0';
const OWN = new RegExp(
  `^(?:${Object.values(RUN_ERRORS)
    .map((write: Write) => literal(write(HOLE)).replaceAll(HOLE, '[^"\\s]{1,300}'))
    .join('|')})(?:${DID_NOT_STOP})?$`,
);
const ANSWERED = new RegExp(`^${CALL_ERRORS.answered} \\d{3}(?=$|:)`);
const FAILED = new RegExp(`^[A-Z]+ https?://\\S+ ${CALL_ERRORS.failed} (?:.* )?\\(([A-Z_]{3,60})\\)$`, 's');
const NOT_ALLOWED = new RegExp(`^calls to \\S+ \\(\\S+\\) ${CALL_ERRORS.notAllowed}`);
const NOT_STARTED = new RegExp(`^(?:${CALL_ERRORS.notSigned}|${CALL_ERRORS.notJson})(?=$|:)`);

const SCRIPT = new RegExp(
  `^(?:${[
    literal(SCRIPT_ERRORS.exited(0)).replace('0', '\\d{1,3}'),
    literal(SCRIPT_ERRORS.signalled(HOLE)).replace(HOLE, 'SIG[A-Z0-9]{2,9}'),
    SCRIPT_ERRORS.outOfMemory,
    SCRIPT_ERRORS.outOfCpuTime,
    SCRIPT_ERRORS.fileTooLarge,
    SCRIPT_ERRORS.notStarted,
    SCRIPT_ERRORS.reported,
  ].join('|')})(?=$|:| \\()`,
);

/** The part of an error that quotes nothing: all of it, its beginning, or undefined where none is known. */
export function plainPartOf(error: string): string | undefined {
  if (OWN.test(error)) return error;
  const [, code] = FAILED.exec(error) ?? [];
  if (code !== undefined) return `the call failed (${code})`;
  if (NOT_ALLOWED.test(error)) return 'the call is not allowed here';
  return (ANSWERED.exec(error) ?? SCRIPT.exec(error) ?? NOT_STARTED.exec(error))?.[0];
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
