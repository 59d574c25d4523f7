/**
 * Before the key of a data folder, or any request, is sent: does the server at the address in the folder know that key? The address
 * of a killed server stays in its folder, and any user of the machine can listen there by then.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type Carillon, CarillonError } from '@carillon/client';
import type { KeyFolder } from './connection.ts';
import { CommandFailure } from './errors.ts';

export interface Asked {
  readonly url: string;
  readonly key: string;
  readonly folder: KeyFolder;
}

/** `client`: of that address, without a key. */
export async function requireProof(
  client: Pick<Carillon, 'keyProof'>,
  { url, key, folder: { path, announced } }: Asked,
): Promise<void> {
  const nonce = randomBytes(32).toString('base64url');
  const proof = await client.keyProof(nonce).catch((error: unknown) => {
    if (!(error instanceof CarillonError) || (error.status !== 401 && error.status !== 404)) throw error;
    throw new CommandFailure(
      `The server at ${url} cannot prove that it knows the key of the folder ${path}: nothing else was sent there.`,
      `It is an older version of Carillon, or another program. If the server is yours, stop it and start the new version (carillon start); until then, name both: --url ${url} --key "$(cat ${path}/admin.key)"`,
    );
  });
  // As keyProof of the server computes it.
  const signed = `carillon key proof\n${announced}\n${nonce}`;
  if (proof === createHmac('sha256', key).update(signed).digest('base64url')) return;
  throw new CommandFailure(
    `The program at ${url} does not know the key of the folder ${path}: nothing else was sent there.`,
    `The server of this folder was killed, and another program listens there now. Start it again: carillon start --data ${path}`,
  );
}
