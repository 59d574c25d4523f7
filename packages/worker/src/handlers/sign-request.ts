/**
 * Signs a request as Standard Webhooks describes it: HMAC-SHA256 over the id of the run, the time and the body, one signature per
 * key. A receiver that has one of the keys can tell the request from a forgery, and a recent one from an old one sent again.
 */
import { createHmac } from 'node:crypto';

export interface SignedParts {
  readonly runId: string;
  readonly atMs: number;
  readonly body: Uint8Array | undefined;
}

/** No headers without a secret. */
export function signatureHeaders(
  { runId, atMs, body }: SignedParts,
  secrets: readonly Uint8Array[],
): Record<string, string> {
  if (secrets.length === 0) return {};
  const timestamp = String(Math.floor(atMs / 1000));
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', secret).update(`${runId}.${timestamp}.`);
    if (body) hmac.update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': runId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
