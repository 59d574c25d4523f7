/**
 * How servers of one installation recognise each other: each process makes a pair of keys, publishes the public one in the database,
 * and signs what it asks of another server. No secret is stored, and no key of a person is passed on. A signature counts for one
 * server, one request and half a minute.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import type { BootId, NodeId } from '@carillon/domain';

/** What is asked of whom. */
export interface PeerRequest {
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly path: string;
  readonly to: NodeId;
}

const SCHEME = 'Carillon-Server';
const LIFE_MS = 30_000;
const HEADER = /^Carillon-Server ([0-9a-f-]{36}) (\d{1,15}) ([\w-]{86})$/;

export class PeerKey {
  readonly #private: KeyObject;
  /** As it is published. */
  readonly publicKey: string;
  readonly bootId: BootId;

  constructor(bootId: BootId) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.#private = privateKey;
    this.publicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    this.bootId = bootId;
  }

  /** The Authorization header of the request. */
  sign(request: PeerRequest, nowMs: number): string {
    const signature = sign(null, signedText(request, { bootId: this.bootId, atMs: nowMs }), this.#private);
    return `${SCHEME} ${this.bootId} ${nowMs} ${signature.toString('base64url')}`;
  }
}

export interface PeerClaim {
  readonly bootId: BootId;
  readonly atMs: number;
  readonly signature: string;
}

/** Undefined: it is no such header, or its time is over. */
export function readClaim(header: string | undefined, nowMs: number): PeerClaim | undefined {
  const [, bootId, at, signature] = HEADER.exec(header ?? '') ?? [];
  if (bootId === undefined || signature === undefined) return undefined;
  const atMs = Number(at);
  return Math.abs(nowMs - atMs) <= LIFE_MS ? { bootId: bootId as BootId, atMs, signature } : undefined;
}

/** The owner of the public key has signed this request. */
export function isSigned(request: PeerRequest, claim: PeerClaim, publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' });
    return verify(null, signedText(request, claim), key, Buffer.from(claim.signature, 'base64url'));
  } catch {
    // What is published is no key.
    return false;
  }
}

function signedText(
  { method, path, to }: PeerRequest,
  { bootId, atMs }: Omit<PeerClaim, 'signature'>,
): Buffer {
  return Buffer.from([SCHEME, method, to, path, bootId, atMs].join('\n'));
}
