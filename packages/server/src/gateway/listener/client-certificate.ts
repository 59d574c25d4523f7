/**
 * Certificates of clients. The port is shared by people and workers, so a certificate is asked of everybody and demanded where a worker
 * opens its stream: people need none, and a worker is told in words what is wrong with its own.
 */
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Refusal } from '@carillon/domain';

export type ClientCertificates = 'optional' | 'required';

/** As the settings say. Undefined: none is asked for. */
export function clientCertificatesOf(tls: {
  readonly client_ca_file?: string | undefined;
  readonly client_certificate?: ClientCertificates | undefined;
}): ClientCertificates | undefined {
  return tls.client_ca_file === undefined ? undefined : (tls.client_certificate ?? 'required');
}

const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by itself, and not by an authority that this server knows',
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by an authority that this server does not know',
  UNABLE_TO_GET_ISSUER_CERT: 'is signed by an authority that this server does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by an authority that this server does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by an authority that this server does not know',
  INVALID_PURPOSE: 'is not for clients (extendedKeyUsage lacks clientAuth)',
};

/** Called again while a stream lasts, and for a TLS session that is resumed: a certificate can expire meanwhile. */
export function requireClientCertificate(
  socket: Socket,
  { mode, nowMs }: { mode: ClientCertificates; nowMs: number },
): void {
  const { raw } = presentedBy(socket as TLSSocket);
  if (raw === undefined) {
    if (mode === 'optional') return;
    throw refused(
      'This server takes workers only with a certificate, and none was sent: start the worker with --tls-cert and --tls-key.',
    );
  }
  const { authorized, authorizationError } = socket as TLSSocket;
  const { subject, validTo } = new X509Certificate(raw);
  const name = subject.split('\n').at(-1) ?? '';
  const code = String((authorizationError as { code?: string } | null)?.code ?? authorizationError);
  if (!authorized) throw refused(`The certificate (${name}) ${REASONS[code] ?? `is not valid (${code})`}.`);
  if (Date.parse(validTo) < nowMs) throw refused(`The certificate (${name}) ${REASONS.CERT_HAS_EXPIRED}.`);
}

/** Without a certificate Node answers an empty object; in clear there is nothing to ask. */
function presentedBy(socket: Partial<TLSSocket>): { raw?: Buffer } {
  return socket.getPeerCertificate?.() ?? {};
}

function refused(message: string): Refusal {
  return new Refusal('certificate_refused', message);
}
