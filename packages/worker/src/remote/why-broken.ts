/** Why a stream could not be opened or broke, in words, and what to do: the libraries below name codes of TLS and of HTTP/2. */
import { ConnectError } from '@connectrpc/connect';

const UNTRUSTED =
  'its certificate is not from an authority that is known here; name the file with the certificate of its authority (tls.caFile, --tls-ca)';
const NO_TLS = 'it does not speak TLS; write its address with http instead of https, or check the port';

const KNOWN: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired; have it renewed',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clocks of both machines',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

/** A server with TLS closes a connection in clear without a word. `wasHeard`: the server has said something on this stream. */
export function whyBroken(
  failure: unknown,
  { server, wasHeard }: { server: string; wasHeard: boolean },
): string {
  const message = failure instanceof Error ? failure.message : String(failure);
  const { code, message: words = '' } = causeOf(failure);
  const known = KNOWN[code ?? ''];
  if (known !== undefined) return known;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `its certificate is for another name; ${words}`;
  const isCut = code === 'ECONNRESET' || /http\/2 (stream|connection|session) closed/i.test(message);
  if (!wasHeard && server.startsWith('http:') && isCut)
    return `${message}; the address of a server with TLS begins with https`;
  return message;
}

function causeOf(failure: unknown): { readonly code?: string; readonly message?: string } {
  const { cause } = failure as { cause?: { code?: string; message?: string } };
  return failure instanceof ConnectError && cause instanceof Error ? cause : {};
}
