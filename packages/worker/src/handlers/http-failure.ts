/** What went wrong with a call, in words for the person who reads the run: what happened, and what to change. */
import { CALL_ERRORS } from '@carillon/domain';
import { HandlerError } from '../handler.ts';

/** Of the body of a refused request, so much is shown in the error; the result holds more. */
const EXCERPT_LENGTH = 200;
/** Busy, or not ready yet: worth another try, although the status is of the 4xx kind. */
const RETRYABLE_4XX = new Set([408, 409, 423, 425, 429]);

export interface RefusedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

export function refusedAnswer(answer: RefusedAnswer, result: unknown): HandlerError {
  const retryAfterMs = parseRetryAfterMs(answer.retryAfter);
  return new HandlerError(`${CALL_ERRORS.answered} ${answer.status}${detailOf(answer)}`, {
    // Redirects are not followed, so one that answers with them will do so again.
    retryable: answer.status >= 500 || RETRYABLE_4XX.has(answer.status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    result,
  });
}

function detailOf({ status, location, body }: RefusedAnswer): string {
  if (location !== undefined && status >= 300 && status < 400) {
    return `: a redirect to ${excerptOf(location)}. Redirects are not followed: put the final address into payload.url, or accept the status with payload.expect_status`;
  }
  const excerpt = excerptOf(body);
  return excerpt === '' ? '' : `: ${excerpt}`;
}

/** The beginning, on one line, without what no terminal should get. */
function excerptOf(text: string): string {
  const line = text
    .slice(0, EXCERPT_LENGTH * 4)
    .replace(/[\s\p{C}\u{fffd}]+/gu, ' ')
    .trim();
  return line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH).trimEnd()}…` : line;
}

const NO_TLS = 'the other side does not speak TLS on that port; is the URL http:// instead of https://?';

const CAUSES: Readonly<Record<string, string>> = {
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

export function failedCall(what: string, error: NodeJS.ErrnoException): HandlerError {
  return new HandlerError(`${what} ${CALL_ERRORS.failed} ${causeOf(error)}`);
}

/** Why a call failed. The code of Node stands behind the words: people search for it. */
export function causeOf({ code = '', message }: NodeJS.ErrnoException): string {
  const words = CAUSES[code] ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : undefined);
  return words === undefined ? message || code : `${words} (${code})`;
}

/** Seconds, or a date. */
function parseRetryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, 24 * 3_600_000) : undefined;
}
