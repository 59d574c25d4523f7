/**
 * The way to an OpenID Connect provider and back, for browsers. What must come back from the same browser lies in a short-lived cookie
 * that no script can read. Whatever goes wrong leads to the sign-in page with a word that says what; details are in the log alone.
 * They are no operations: providers add parameters of their own.
 */
import { Refusal, stranger } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hashSecret } from '../../accounts/secrets.ts';
import type { OidcFlow, OidcSignIn } from '../../oidc/oidc-sign-in.ts';
import type { Operations } from '../../operations/operations.ts';
import { originOf } from '../authenticate/create-authenticate.ts';
import { hostCookie, type SessionCookie, sessionCookie } from '../authenticate/session-cookie.ts';

export interface OidcRoutesOptions {
  readonly oidc: Pick<OidcSignIn, 'begin' | 'finish' | 'logoutUrl'>;
  readonly operations: Pick<Operations, 'signInFromOutside' | 'leaveFormerSession'>;
  /** The public URL of the gateway; empty when only the request knows it. */
  readonly address: string;
  readonly admitAnonymous: (request: FastifyRequest) => void;
  readonly log: Log;
}

/** What the browser keeps on the way. */
interface KeptFlow extends OidcFlow {
  /** The hash of the token of the session that it had: its cookie does not come along on the way back. */
  readonly former?: string | undefined;
}

const FLOW_SECONDS = 600;
const NEXT_LENGTH_MAX = 2_000;

/** What the sign-in page is told: why nobody was signed in. */
type Failure = 'expired' | 'refused' | 'no_access' | 'rate_limited' | 'unavailable';

export function oidcRoutes(api: FastifyInstance, options: OidcRoutesOptions): void {
  const { oidc, operations, address, admitAnonymous, log } = options;
  const session: SessionCookie = sessionCookie(address);
  const flowCookie = hostCookie('carillon_oidc', address, 'Lax');
  const base = (request: FastifyRequest) => address || `${request.protocol}://${request.host}`;
  const onRequest = async (request: FastifyRequest) => admitAnonymous(request);
  const fail = (reply: FastifyReply, request: FastifyRequest, failure: Failure) =>
    reply.header('set-cookie', flowCookie.clear(request)).redirect(`${base(request)}/login?error=${failure}`);

  api.get('/oidc/start', { onRequest }, async (request, reply) => {
    const next = localPath((request.query as { next?: unknown }).next);
    try {
      const redirectUri = `${base(request)}/api/oidc/callback`;
      const { url, flow } = await oidc.begin({ redirectUri, next });
      const token = session.read(request);
      const all: KeptFlow = { ...flow, former: token && hashSecret(token) };
      const kept = Buffer.from(JSON.stringify(all)).toString('base64url');
      return await reply.header('set-cookie', flowCookie.write(request, kept, FLOW_SECONDS)).redirect(url);
    } catch (error) {
      log.warn(reasonOf(error), 'the OpenID Connect provider cannot be asked');
      return fail(reply, request, 'unavailable');
    }
  });

  api.get('/oidc/callback', { onRequest }, async (request, reply) => {
    const flow = readFlow(flowCookie.read(request));
    if (!flow) return fail(reply, request, 'expired');
    const query = request.url.split('?', 2)[1] ?? '';
    try {
      const caller = stranger(originOf(request));
      const { session: opened, token } = await operations.signInFromOutside(caller, {
        state: flow.state,
        identify: () => oidc.finish(`${base(request)}/api/oidc/callback?${query}`, flow),
      });
      if (flow.former !== undefined) await operations.leaveFormerSession(caller, flow.former);
      const maxAgeSeconds = Math.floor((opened.expiresAtMs - opened.createdAtMs) / 1_000);
      const cookies = [session.write(request, token, maxAgeSeconds), flowCookie.clear(request)];
      return await reply.header('set-cookie', cookies).redirect(`${base(request)}${localPath(flow.next)}`);
    } catch (error) {
      log.warn(
        { ...reasonOf(error), requestId: request.id },
        'somebody was not signed in by the OpenID Connect provider',
      );
      return fail(reply, request, failureOf(error));
    }
  });

  api.get('/oidc/logout', { onRequest }, async (request, reply) => {
    const login = `${base(request)}/login`;
    try {
      return await reply.redirect((await oidc.logoutUrl(login)) ?? login);
    } catch (error) {
      log.warn(reasonOf(error), 'the OpenID Connect provider cannot be asked');
      return reply.redirect(login);
    }
  });
}

/** A path on this server, and nothing that a browser takes for another one. */
export function localPath(given: unknown): string {
  if (typeof given !== 'string' || given.length > NEXT_LENGTH_MAX) return '/';
  // A header takes Latin-1 alone.
  return /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(given)
    ? given.replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
    : '/';
}

function readFlow(kept: string | undefined): KeptFlow | undefined {
  if (kept === undefined) return undefined;
  try {
    const read = JSON.parse(Buffer.from(kept, 'base64url').toString()) as Partial<Record<string, unknown>>;
    const { state, nonce, verifier, next, former } = read;
    const isWhole = [state, nonce, verifier].every((text) => typeof text === 'string' && text !== '');
    if (!isWhole) return undefined;
    return { state, nonce, verifier, next, ...(typeof former === 'string' && { former }) } as KeptFlow;
  } catch {
    return undefined;
  }
}

/** Not the error as a whole: what came with it may hold codes and tokens. */
function reasonOf(error: unknown): { reason: string; code: unknown; cause: string | undefined } {
  const { message, code, cause } = error as { message?: unknown; code?: unknown; cause?: unknown };
  const { error: word, message: inner } = (cause ?? {}) as { error?: unknown; message?: unknown };
  const told = word ?? inner;
  return { reason: String(message), code, cause: typeof told === 'string' ? told : undefined };
}

function failureOf(error: unknown): Failure {
  if (error instanceof Refusal) {
    if (error.code === 'forbidden') return 'no_access';
    return error.code === 'rate_limited' ? 'rate_limited' : 'refused';
  }
  const { code } = error as { code?: unknown };
  // The state is that of another attempt, such as one in another tab.
  return code === 'OAUTH_INVALID_RESPONSE' ? 'expired' : 'refused';
}
