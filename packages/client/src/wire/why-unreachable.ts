/** Why a server could not be reached, in words, and what to do: fetch itself only says "fetch failed", the rest is in its cause. */
export interface WhyUnreachable {
  readonly reason: string;
  readonly fix: string;
}

const CHECK = 'Check the address, and that the server runs.';
const UNTRUSTED = {
  reason: 'its certificate is not from an authority that is known here',
  fix: 'Name the file with the certificate of its authority (or its own) in NODE_EXTRA_CA_CERTS.',
};
const NO_TLS = {
  reason: 'it does not speak TLS',
  fix: 'Write the address with http instead of https, or check its port.',
};

const KNOWN: Readonly<Record<string, WhyUnreachable>> = {
  ECONNREFUSED: { reason: 'nothing listens there (ECONNREFUSED)', fix: CHECK },
  ENOTFOUND: { reason: 'no machine is known by that name (ENOTFOUND)', fix: 'Check the address.' },
  EAI_AGAIN: {
    reason: 'the name cannot be looked up now (EAI_AGAIN)',
    fix: 'Check the address, and the network of this machine.',
  },
  ECONNRESET: { reason: 'the connection was cut (ECONNRESET)', fix: CHECK },
  UND_ERR_SOCKET: {
    reason: 'the connection was closed without an answer',
    fix: `${CHECK} That of a server with TLS begins with https.`,
  },
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: {
    reason: 'its certificate has expired',
    fix: 'Have the certificate of the server renewed.',
  },
};

export function whyUnreachable(error: unknown): WhyUnreachable {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  const known = KNOWN[cause?.code ?? ''];
  if (known) return known;
  const [reason = ''] = (cause?.message || cause?.code || message || String(error)).split('\n');
  if (cause?.code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return { reason: 'its certificate is for another name', fix: `Use a name that it holds. ${reason}` };
  if (reason === 'unexpected redirect')
    return {
      reason: 'it sends callers on to another address',
      fix: 'Use that address: where TLS is on, it begins with https.',
    };
  if (reason === 'bad port')
    return {
      reason: 'its port is set aside for another protocol, and is never asked over HTTP',
      fix: 'Check the port in the address: a server has 7420 unless it was given another.',
    };
  return { reason, fix: CHECK };
}
