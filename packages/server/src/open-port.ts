/** The port of a server, by its settings, and the one that redirects to it. */
import { type Log, systemClock, systemRandom } from '@carillon/foundation';
import type { Config } from './config/config-schema.ts';
import { GatewayPort } from './gateway/listener/gateway-port.ts';
import { CertificateUnusable } from './gateway/listener/read-certificate.ts';
import type { CredentialSeen } from './gateway/listener/redirect-to-https.ts';
import type { OwnEndpoints } from './outgoing/own-endpoints.ts';
import { StartFailure } from './start-failure.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

export async function preparePort(config: Config, log: Log): Promise<GatewayPort> {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCaFile } = config.tls;
  try {
    return await GatewayPort.prepare({
      port: config.port,
      host: config.host,
      tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, clientCaFile },
      publicUrl: config.public_url,
      limits: {
        total: config.connections.total_max,
        perAddress: config.connections.address_max,
        trustedProxies: config.trusted_proxies,
      },
      clock: systemClock,
      random: systemRandom,
      log,
    });
  } catch (error) {
    if (error instanceof CertificateUnusable) throw new StartFailure(error.message, { cause: error });
    throw error;
  }
}

interface RedirectParts {
  readonly port: GatewayPort;
  readonly undo: (() => Promise<unknown>)[];
  readonly own: OwnEndpoints;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'requestAnswered'>;
}

export async function openRedirect(
  config: Config,
  { port, undo, own, log, telemetry }: RedirectParts,
): Promise<void> {
  const { redirect_port: redirectPort } = config.tls;
  if (redirectPort === undefined) return;
  const onCredential = (seen: CredentialSeen) => {
    log.warn(seen, 'a credential was sent in clear to the port that redirects to https; replace it');
    telemetry.requestAnswered({ method: 'ANY', route: 'redirect to https', status: 403, elapsedMs: 0 });
  };
  const redirect = await port.redirectFrom(redirectPort, { onCredential }).catch((error: unknown) => {
    throw StartFailure.ofListen(error, { port: redirectPort, host: port.host, flag: '--tls-redirect-port' });
  });
  undo.push(() => redirect.close());
  own.addListener(`http://localhost:${redirectPort}`, port.host);
}
