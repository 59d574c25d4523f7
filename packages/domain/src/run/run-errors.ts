/**
 * The errors of runs: those that Carillon itself writes, which hold nothing of a payload, and how those of handlers begin. What a
 * handler throws may quote whatever it was given or answered, so callers who may not read payloads are told only what is recognised here.
 */
import { CHECKPOINT_BYTES_MAX, PROGRESS_MESSAGE_LENGTH_MAX } from './run.ts';

type Write = (value: string) => string;

export const RUN_ERRORS = {
  cancelled: () => 'cancelled while running',
  noSlot: () => 'every slot of the worker is in use',
  cancelledFirst: () => 'cancelled before it started',
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
  checkpointLate: () => 'the checkpoint was not saved before the run had to stop',
  checkpointTooLarge: (bytes) =>
    `The checkpoint has ${bytes} bytes; at most ${CHECKPOINT_BYTES_MAX} are kept. Save where to go on from, and keep the data itself elsewhere.`,
  messageTooLong: (length) =>
    `The message of the progress has ${length} characters; at most ${PROGRESS_MESSAGE_LENGTH_MAX} are shown. Shorten it, and write the rest to the log.`,
  notStored: () => 'the run ended, but its outcome could not be stored',
} satisfies Record<string, Write>;

/** Follows one of those above. */
export const DID_NOT_STOP = '; the handler did not stop';

/** How errors of the http handler begin or end; what stands between quotes the address or the answer. */
export const CALL_ERRORS = {
  answered: 'the server answered',
  /** Ends the error of an answer that leads elsewhere. */
  redirected:
    'Redirects are not followed: put the final address into payload.url, or accept the status with payload.expect_status',
  failed: 'failed:',
  notAllowed: 'are not allowed here:',
  notSigned: 'the request could not be signed',
  notJson: 'the payload is not valid JSON',
} as const;

const NO_TLS = 'the other side does not speak TLS on that port; is the URL http:// instead of https://?';

/** Why a call got no answer, by the code of Node. */
export const CALL_CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at that address and port, or a firewall refuses connections',
  ECONNRESET: 'the other side closed the connection before it had answered',
  EPIPE: 'the other side closed the connection before it had answered',
  ETIMEDOUT: 'the other side did not accept the connection in time',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  EADDRNOTAVAIL: 'this machine cannot connect to that address',
  ENOTFOUND: 'the name of the host is not known; check its spelling',
  EAI_AGAIN: 'the name of the host could not be looked up: the name server did not answer',
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  CERT_HAS_EXPIRED: 'the certificate of the other side has expired',
  CERT_NOT_YET_VALID: 'the certificate of the other side is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate of the other side is self-signed; give this server its issuer with NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN:
    'the certificate of the other side is from an unknown issuer; give this server the issuer with NODE_EXTRA_CA_CERTS',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'the certificate of the other side is from an unknown issuer; give this server the issuer with NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the certificate of the other side is incomplete: it does not send the certificates of its issuers',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the other side is for another host',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
};

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

/** Limits of Carillon's: numbers and names of settings, none of which a script chooses. */
const SCRIPT_LIMIT = new RegExp(
  `^(?:${[
    `${SCRIPT_ERRORS.outOfMemory}: it used more than \\d+ MiB \\(script\\.memory_mb\\)$`,
    `${SCRIPT_ERRORS.outOfMemory}: the machine had none left$`,
    `${SCRIPT_ERRORS.outOfMemory}: the limit is \\d+ MiB \\(script\\.memory_mb\\)(?=$|:)`,
    `${SCRIPT_ERRORS.outOfCpuTime}: [\\d.]+ s \\(script\\.cpu_seconds\\)$`,
    `${SCRIPT_ERRORS.fileTooLarge}: \\d+ bytes \\(script\\.file_size_mb\\)$`,
    `${SCRIPT_ERRORS.signalled('SIGKILL')}: it had more than \\d+ processes \\(script\\.processes\\)$`,
    `${SCRIPT_ERRORS.signalled('SIGKILL')} \\(Carillon did not send it\\)$`,
    `${SCRIPT_ERRORS.exited(0).replace('0', '\\d{1,3}')} \\(it asks to be tried again\\)(?=$|:)`,
  ].join('|')})`,
);
const REDIRECTED = new RegExp(`^${CALL_ERRORS.answered} 3\\d{2}: `);

/** The end of an error that quotes nothing, and what parts it from the quotation before. Empty: there is none. */
export function plainEndOf(error: string): string {
  const end = `. ${CALL_ERRORS.redirected}`;
  return REDIRECTED.test(error) && error.endsWith(end) ? end : '';
}

/** The part of an error that quotes nothing: all of it, its beginning, or undefined where none is known. */
export function plainPartOf(error: string): string | undefined {
  if (OWN.test(error)) return error;
  const [, code] = FAILED.exec(error) ?? [];
  if (code !== undefined) {
    const words = CALL_CAUSES[code];
    return words === undefined ? `the call failed (${code})` : `the call failed: ${words} (${code})`;
  }
  if (NOT_ALLOWED.test(error)) return 'the call is not allowed here';
  return (ANSWERED.exec(error) ??
    SCRIPT_LIMIT.exec(error) ??
    SCRIPT.exec(error) ??
    NOT_STARTED.exec(error))?.[0];
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
