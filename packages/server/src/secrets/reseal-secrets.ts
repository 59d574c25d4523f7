/**
 * Encrypts with the first key of the key file what was encrypted with another one, so that the other can be removed. A value that cannot
 * be opened stays as it is: its key may come back.
 */
import type { Log } from '@carillon/foundation';
import type { SecretSeal } from '../outgoing/secret-seal.ts';
import type { SecretStore, StoredSecret } from '../storage/secret-store.ts';
import { openSecret, sealSecret } from './sealed-secret.ts';

const PAGE = 100;

/** Answers how many. */
export async function resealSecrets({
  store,
  seal,
  log,
}: {
  readonly store: Pick<SecretStore, 'secretsSealedOtherwise' | 'resealSecret'>;
  readonly seal: SecretSeal;
  readonly log: Log;
}): Promise<number> {
  const { beginning } = seal;
  let resealed = 0;
  let after: StoredSecret | undefined;
  while (beginning !== undefined) {
    const page = await store.secretsSealedOtherwise(beginning, { after, limit: PAGE });
    for (const secret of page) {
      try {
        const value = sealSecret(seal, openSecret(seal, secret), secret);
        if (await store.resealSecret(secret, value)) resealed += 1;
      } catch (error) {
        log.warn({ err: error, namespace: secret.namespace, name: secret.name }, 'a secret cannot be read');
      }
    }
    after = page.at(-1);
    if (page.length < PAGE) break;
  }
  if (resealed > 0) log.info({ secrets: resealed }, 'encrypted secrets with the first key of the key file');
  return resealed;
}
