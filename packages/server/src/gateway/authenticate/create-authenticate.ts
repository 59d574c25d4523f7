/**
 * Who calls: by the admin key in the server's own folder, an API key, or a session. A key takes precedence over a cookie. The
 * same for REST and RPC; an invalid credential is refused as unauthorized before anything else is checked.
 */
import { timingSafeEqual } from 'node:crypto';
import { Cache, type Caller, type Origin, Refusal } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';
import { ADMIN, type Identities } from '../../accounts/identities.ts';
import { secretDigest } from '../../accounts/secrets.ts';
import type { RequestLimits } from '../rate-limit.ts';
import { requireCsrfToken } from './require-own-page.ts';
import { sessionCookie } from './session-cookie.ts';

export type Authenticate = (request: FastifyRequest) => Promise<Caller>;

export interface AuthenticateOptions {
  /** Grants everything, without rate limits. */
  readonly adminKey: string;
  readonly identities: Pick<Identities, 'ofKey' | 'ofSession'>;
  /** Left out: no limits. */
  readonly limits?: Pick<RequestLimits, 'admitAddress' | 'admitCaller'> | undefined;
  /** The public URL of the gateway; empty when only the request knows it. */
  readonly address: string;
}

/** More keys than are in use at the same time, by far. */
const DIGESTS_MAX = 1_000;
const DIGESTS_MS = 60_000;

const USER_AGENT_LENGTH_MAX = 200;

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { adminKey, identities, limits, address } = options;
  if (adminKey === '') throw new Error('an empty admin key would let everybody in');
  const adminDigest = secretDigest(adminKey);
  const cookie = sessionCookie(address);
  /** Of keys that were valid within the last minute: a key that sends many requests is hashed once. Guesses are not kept. */
  const digests = new Cache<string, Buffer>({
    entriesMax: DIGESTS_MAX,
    expiry: { ttlMs: DIGESTS_MS, clock: { monotonic: () => performance.now() } },
  });

  return async (request) => {
    const key = bearerOf(request);
    if (key === undefined) {
      limits?.admitAddress(request.ip);
      const user = await ofCookie(request);
      limits?.admitCaller(user);
      return user;
    }
    const known = digests.get(key);
    const digest = known ?? secretDigest(key);
    if (timingSafeEqual(digest, adminDigest)) {
      if (!known) digests.set(key, digest);
      return { ...ADMIN, origin: originOf(request) };
    }
    limits?.admitAddress(request.ip);
    const caller = await identities.ofKey(key, originOf(request), digest);
    if (!known) digests.set(key, digest);
    limits?.admitCaller(caller);
    return caller;
  };

  async function ofCookie(request: FastifyRequest): Promise<Caller> {
    const token = request.headers.authorization === undefined ? cookie.read(request) : undefined;
    if (token === undefined) throw new Refusal('unauthorized', 'The request carries no key.');
    const caller = await identities.ofSession(token, originOf(request));
    requireCsrfToken(request, token, address);
    return caller;
  }
}

function bearerOf(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** As the audit log records it. */
export function originOf(request: Pick<FastifyRequest, 'ip' | 'headers' | 'id'>): Origin {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX),
    requestId: request.id,
  };
}
