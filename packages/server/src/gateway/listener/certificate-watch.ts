/**
 * Loads a renewed certificate without a restart. The files are read again every few seconds instead of being watched: tools
 * that renew certificates swap links and folders, which file system watches miss. An unusable pair (half written, or a key
 * of another certificate) leaves the old one in use.
 */
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import { type Certificate, type CertificateFiles, expiresAtMs, readCertificate } from './read-certificate.ts';

const READ_MS = 10_000;

export interface CertificateWatchOptions {
  readonly files: CertificateFiles;
  readonly current: Certificate;
  readonly onRenewed: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class CertificateWatch implements Service {
  readonly #options: CertificateWatchOptions;
  readonly #loop: Loop;
  #current: Certificate;
  #lastFault: string | undefined;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#current = options.current;
    this.#loop = new Loop({
      name: 'certificate',
      idleMs: READ_MS,
      clock: options.clock,
      random: options.random,
      log: options.log,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    const { files, onRenewed, log } = this.#options;
    try {
      const read = await readCertificate(files);
      this.#lastFault = undefined;
      const { cert, key, ca } = this.#current;
      if (read.cert === cert && read.key === key && read.ca === ca) return;
      onRenewed(read);
      this.#current = read;
      const endsMs = expiresAtMs(read);
      log.info(
        { expires: endsMs === undefined ? undefined : new Date(endsMs).toISOString() },
        'took up a renewed certificate',
      );
    } catch (error) {
      const { message } = error as Error;
      // Logged once per fault: the files are read every few seconds.
      if (message !== this.#lastFault) {
        log.error({ err: error }, 'the certificate files changed and cannot be used; the old one stays');
      }
      this.#lastFault = message;
    }
  }
}
