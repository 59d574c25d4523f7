/** The certificate and key of this server, and whom it trusts to sign those of workers, read from files. An unusable file is reported by the setting that names it. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Undefined: no certificate is asked of clients. */
  readonly clientCaFile?: string | undefined;
}

/** PEM. The certificate may be followed by its chain. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** Authorities that sign certificates of clients. Undefined: none is asked for. */
  readonly ca?: string | undefined;
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export class CertificateUnusable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CertificateUnusable';
  }
}

export async function readCertificate({
  certFile,
  keyFile,
  clientCaFile,
}: CertificateFiles): Promise<Certificate> {
  const cert = await readText(certFile, 'tls.cert_file');
  const key = await readText(keyFile, 'tls.key_file');
  const certificate = orUnusable(() => new X509Certificate(cert), {
    complaint: `tls.cert_file (${certFile}) holds no PEM certificate`,
  });
  const privateKey = orUnusable(() => createPrivateKey(key), {
    complaint: `tls.key_file (${keyFile}) holds no PEM private key without a passphrase`,
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CertificateUnusable(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  orUnusable(() => createSecureContext({ cert, key }), {
    complaint: `the certificate in ${certFile} cannot be used for TLS`,
  });
  return { cert, key, ca: clientCaFile === undefined ? undefined : await readAuthorities(clientCaFile) };
}

/** OpenSSL takes a file without any certificate without a word, and then trusts nobody. */
async function readAuthorities(file: string): Promise<string> {
  const ca = await readText(file, 'tls.client_ca_file');
  const complaint = `tls.client_ca_file (${file}) holds no PEM certificate`;
  for (const each of ca.match(PEM_CERTIFICATE) ?? [ca])
    orUnusable(() => new X509Certificate(each), { complaint });
  return ca;
}

async function readText(file: string, setting: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateUnusable(`${setting} (${file}) cannot be read (${code})`, { cause: error });
  }
}

function orUnusable<T>(attempt: () => T, { complaint }: { complaint: string }): T {
  try {
    return attempt();
  } catch (error) {
    throw new CertificateUnusable(`${complaint}: ${(error as Error).message}`, { cause: error });
  }
}

/** Undefined: the date cannot be read. */
export function expiresAtMs({ cert }: Certificate): number | undefined {
  const endsMs = Date.parse(new X509Certificate(cert).validTo);
  return Number.isNaN(endsMs) ? undefined : endsMs;
}
