/**
 * The port of a gateway, from its settings: in clear on this machine only, or under TLS for everybody, with renewed
 * certificates taken up as they come and plain HTTP sent on to https. What is wrong with the settings shows before
 * anything else is started.
 */
import type { AddressInfo } from 'node:net';
import type { Clock, Log, Random } from '@carillon/foundation';
import type { FastifyInstance } from 'fastify';
import { CertificateWatch } from './certificate-watch.ts';
import { createListener, type Listener } from './create-listener.ts';
import { addressOf, hostOf, isLoopback } from './listen-address.ts';
import { type Certificate, type CertificateFiles, expiresAtMs, readCertificate } from './read-certificate.ts';
import { redirectToHttps } from './redirect-to-https.ts';

export interface GatewayPortOptions {
  readonly port: number;
  /** Undefined: everybody under TLS, otherwise this machine only. */
  readonly host: string | undefined;
  /** Undefined: in clear. */
  readonly tls: CertificateFiles | undefined;
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class GatewayPort {
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly listener: Listener;
  readonly #options: GatewayPortOptions;
  readonly #watch: CertificateWatch | undefined;
  #portTaken: number;

  private constructor(options: GatewayPortOptions, certificate: Certificate | undefined) {
    const { tls: files } = options;
    this.#options = options;
    this.#portTaken = options.port;
    this.scheme = certificate ? 'https' : 'http';
    this.host = hostOf(options.host, { tls: certificate !== undefined });
    this.listener = createListener({ tls: certificate });
    this.#watch =
      certificate && files
        ? new CertificateWatch({
            ...options,
            files,
            current: certificate,
            onRenewed: (renewed) => this.listener.replaceCertificate(renewed),
          })
        : undefined;
  }

  /** Throws CertificateUnusable. */
  static async prepare(options: GatewayPortOptions): Promise<GatewayPort> {
    const certificate = options.tls && (await readCertificate(options.tls));
    const port = new GatewayPort(options, certificate);
    port.#warn(certificate);
    return port;
  }

  /** Answers where callers on this machine reach it. Closing the gateway closes it. */
  async open(gateway: FastifyInstance): Promise<string> {
    await gateway.listen({ port: this.#options.port, host: this.host });
    this.#watch?.start();
    const address = gateway.server.address() as AddressInfo;
    this.#portTaken = address.port;
    return addressOf(address, { tls: this.scheme === 'https' });
  }

  /** Sends callers of plain HTTP on to https. */
  async redirectFrom(port: number): Promise<{ close(): Promise<void> }> {
    const { publicUrl } = this.#options;
    return redirectToHttps({ host: this.host, port, to: { publicUrl, port: this.#portTaken } });
  }

  async close(): Promise<void> {
    await this.#watch?.stop();
  }

  #warn(certificate: Certificate | undefined): void {
    const { log, clock } = this.#options;
    if (!certificate && !isLoopback(this.host)) {
      log.warn(
        { host: this.host },
        'listening beyond this machine without TLS: keys, passwords and payloads can be read on the way; set tls.cert_file and tls.key_file, or put a proxy with TLS in front',
      );
    }
    const endsMs = certificate && expiresAtMs(certificate);
    if (endsMs !== undefined && endsMs < clock.now()) {
      log.warn(
        { expired: new Date(endsMs).toISOString() },
        'the certificate has expired: clients will refuse it',
      );
    }
  }
}
