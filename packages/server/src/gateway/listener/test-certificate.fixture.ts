/** For tests: certificates that openssl makes on the spot, for this machine only, gone with their folder. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CertificateFolder {
  readonly certFile: string;
  readonly keyFile: string;
  /** Another certificate and key in the place of the first. */
  renew(): void;
  remove(): void;
}

export function makeCertificate(): CertificateFolder {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-tls-'));
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  const renew = () => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '2', ...names], {
      stdio: 'pipe',
    });
  };
  renew();
  return { certFile, keyFile, renew, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
