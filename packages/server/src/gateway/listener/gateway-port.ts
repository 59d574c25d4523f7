/**
 * The port of a gateway, from its settings: in clear on this machine only, or under TLS for everybody, with certificates
 * reloaded when they are renewed and plain HTTP redirected to https. Invalid settings are reported before anything else
 * starts.
 */
import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Clock, Log, Random } from '@carillon/foundation';
import type { FastifyInstance } from 'fastify';
import { CertificateWatch } from './certificate-watch.ts';
import type { ConnectionLimitSettings } from './connection-limits.ts';
import { createListener, type Listener } from './create-listener.ts';
import { type Certificate, type CertificateFiles, expiresAtMs, readCertificate } from './read-certificate.ts';
import { type RedirectOptions, redirectToHttps } from './redirect-to-https.ts';

const LOOPBACK = '127.0.0.1';
const EVERYWHERE = '0.0.0.0';
const REFUSED_PER_LINE = 100;

export interface GatewayPortOptions {
  readonly port: number;
  /** Undefined: everybody under TLS, otherwise this machine only. */
  readonly host: string | undefined;
  /** Undefined: in clear. */
  readonly tls: CertificateFiles | undefined;
  readonly publicUrl: string | undefined;
  readonly limits?: ConnectionLimitSettings | undefined;
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
  #boundPort: number;
  #certificate: Certificate | undefined;

  private constructor(options: GatewayPortOptions, certificate: Certificate | undefined) {
    const { tls: files } = options;
    this.#options = options;
    this.#boundPort = options.port;
    this.#certificate = certificate;
    this.scheme = certificate ? 'https' : 'http';
    this.host = hostOf(options.host, { tls: certificate !== undefined });
    let refused = 0;
    this.listener = createListener({
      tls: certificate,
      limits: options.limits,
      // Each line could be one of thousands: every hundredth is written down.
      onRefused: (address) => {
        if (refused++ % REFUSED_PER_LINE !== 0) return;
        options.log.warn({ address, refused }, 'connections are refused: too many are open');
      },
    });
    this.#watch =
      certificate && files
        ? new CertificateWatch({
            ...options,
            files,
            current: certificate,
            onRenewed: (renewed) => {
              this.listener.replaceCertificate(renewed);
              this.#certificate = renewed;
            },
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

  /** SHA-256 of the certificate that it shows; undefined: in clear. */
  get fingerprint(): string | undefined {
    return this.#certificate && new X509Certificate(this.#certificate.cert).fingerprint256;
  }

  /** Answers the URL for callers on this machine. Closing the gateway closes the port. */
  async open(gateway: FastifyInstance): Promise<string> {
    await gateway.listen({ port: this.#options.port, host: this.host });
    this.#watch?.start();
    const address = gateway.server.address() as AddressInfo;
    this.#boundPort = address.port;
    return addressOf(address, { tls: this.scheme === 'https' });
  }

  /** Redirects plain HTTP to https. */
  async redirectFrom(
    port: number,
    { onCredential }: Pick<RedirectOptions, 'onCredential'> = {},
  ): Promise<{ close(): Promise<void> }> {
    const { publicUrl } = this.#options;
    const to = { publicUrl, port: this.#boundPort };
    return redirectToHttps({ host: this.host, port, to, onCredential });
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

/** Without TLS only this machine can reach the port, unless the settings say otherwise. */
export function hostOf(host: string | undefined, { tls }: { tls: boolean }): string {
  return host ?? (tls ? EVERYWHERE : LOOPBACK);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** The URL for clients on this machine. */
export function addressOf({ address, family, port }: AddressInfo, { tls }: { tls: boolean }): string {
  const reachable = address === EVERYWHERE || address === '::' ? LOOPBACK : address;
  const name = family === 'IPv6' && reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
