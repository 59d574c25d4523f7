/** The files by which a worker knows its server and the server knows the worker. What is wrong with one is said before anything is dialled. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

export interface TlsFiles {
  /** Certificates that the server's is signed by. Left out: those that the system trusts. */
  readonly caFile?: string;
  /** The worker's own, where the server asks for one; may be followed by its chain. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

export interface TlsTexts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export function readTlsFiles({ caFile, certFile, keyFile }: TlsFiles): TlsTexts {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new Error('A certificate and its private key are given together.');
  const texts: TlsTexts = {
    ...(caFile !== undefined && { ca: read(caFile) }),
    ...(certFile !== undefined && { cert: read(certFile) }),
    ...(keyFile !== undefined && { key: read(keyFile) }),
  };
  const { ca, cert, key } = texts;
  if (ca !== undefined) certificateIn(ca, caFile!);
  if (cert === undefined || key === undefined) return texts;
  if (!certificateIn(cert, certFile!).checkPrivateKey(privateKeyIn(key, keyFile!)))
    throw new Error(`The key in ${keyFile} does not belong to the certificate in ${certFile}.`);
  return texts;
}

/** Throws what makes them unusable; answers what to warn of. */
export function checkTlsFiles(files: TlsFiles, servers: readonly string[]): string[] {
  const { certFile, keyFile } = files;
  const { cert } = readTlsFiles(files);
  const clear = servers.find((server) => !server.startsWith('https:'));
  if (clear !== undefined && Object.keys(files).length > 0)
    throw new Error(`Files for TLS are given, and ${clear} is an address in clear: write it with https.`);
  const warnings: string[] = [];
  if (cert !== undefined) {
    const { validTo } = new X509Certificate(cert);
    if (Date.parse(validTo) < Date.now())
      warnings.push(`the certificate in ${certFile} has expired (${validTo}): servers refuse it`);
  }
  if (keyFile !== undefined && statSync(keyFile).mode & 0o077)
    warnings.push(`the private key in ${keyFile} can be read or changed by others: chmod 600 ${keyFile}`);
  return warnings;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`, { cause: error });
  }
}

function certificateIn(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new Error(`${file} holds no PEM certificate.`, { cause: error });
  }
}

function privateKeyIn(text: string, file: string) {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`${file} holds no PEM private key without a passphrase.`, { cause: error });
  }
}
