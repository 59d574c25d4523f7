/**
 * Signing in with an OpenID Connect provider, found by discovery: authorization code with PKCE. State, nonce and verifier stay with the
 * browser that began, so any server can finish. The provider is asked when somebody signs in, and its absence keeps nobody else out.
 */
import { Cache, type GroupGrant, grantsOfGroups } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import * as client from 'openid-client';
import { claimAt, type OidcPerson, personOf } from './read-claims.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Left out: a public client, which PKCE alone protects. */
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly grants: readonly GroupGrant[];
  /** On the button. */
  readonly label: string;
}

/** What the browser that begins keeps until it comes back. */
export interface OidcFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A local path: where the person wanted to go. */
  readonly next: string;
}

/** What the provider says may change: its keys and addresses are looked up again after so long. */
const DISCOVERED_MS = 3_600_000;
const TIMEOUT_SECONDS = 10;

export class OidcSignIn {
  readonly label: string;
  readonly #settings: OidcSettings;
  readonly #discovered: Cache<'provider', client.Configuration>;

  constructor(settings: OidcSettings, { clock }: { clock: Pick<Clock, 'monotonic'> }) {
    this.label = settings.label;
    this.#settings = settings;
    this.#discovered = new Cache({ entriesMax: 1, expiry: { ttlMs: DISCOVERED_MS, clock } });
  }

  /** Where to send the browser, and what it keeps. */
  async begin({
    redirectUri,
    next,
  }: {
    redirectUri: string;
    next: string;
  }): Promise<{ url: string; flow: OidcFlow }> {
    const provider = await this.#provider();
    const flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      next,
    };
    const url = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri,
      scope: this.#settings.scopes.join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, flow };
  }

  /** url: as the provider sent the browser back, below the redirect URI. Throws when anything does not fit. */
  async finish(url: string, flow: OidcFlow): Promise<OidcPerson> {
    const { groupsClaim, grants } = this.#settings;
    const provider = await this.#provider();
    const tokens = await client.authorizationCodeGrant(provider, new URL(url), {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    });
    const idClaims = tokens.claims()!;
    // Some providers keep groups and names out of the token.
    const isWhole = claimAt(idClaims, groupsClaim) !== undefined && idClaims.preferred_username !== undefined;
    const asks = !isWhole && provider.serverMetadata().userinfo_endpoint !== undefined;
    const more = asks ? await client.fetchUserInfo(provider, tokens.access_token, idClaims.sub) : {};
    const person = personOf({ ...more, ...idClaims }, { groupsClaim });
    return { ...person, grants: grantsOfGroups(person.groups, grants) };
  }

  /** Where the person also leaves the provider; undefined where it offers no such thing. */
  async logoutUrl(redirectUri: string): Promise<string | undefined> {
    const provider = await this.#provider();
    if (provider.serverMetadata().end_session_endpoint === undefined) return undefined;
    return client.buildEndSessionUrl(provider, { post_logout_redirect_uri: redirectUri }).href;
  }

  /** A failed discovery is tried again by whoever comes next. */
  async #provider(): Promise<client.Configuration> {
    const found = await this.#discovered.getOrLoad('provider', () => this.#discover());
    return found!;
  }

  async #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    // The settings allow http on this machine only.
    const insecure = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    const options = { execute: insecure, timeout: TIMEOUT_SECONDS };
    const found = await client.discovery(new URL(issuer), clientId, {}, client.None(), options);
    const server = found.serverMetadata();
    const provider = new client.Configuration(
      server,
      clientId,
      {},
      clientAuthentication(server, clientSecret),
    );
    provider.timeout = TIMEOUT_SECONDS;
    for (const allow of insecure) allow(provider);
    // Signatures are checked although the token comes straight from the provider.
    client.enableNonRepudiationChecks(provider);
    return provider;
  }
}

/** Basic is what providers support that say nothing. */
function clientAuthentication(
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: client.ServerMetadata,
  secret: string | undefined,
): client.ClientAuth {
  if (secret === undefined) return client.None();
  return methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret);
}
