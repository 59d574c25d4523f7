/** For tests: a real OpenID Connect provider on this machine, and a browser that goes where it is sent and fills in its forms. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProviderFixture {
  readonly issuer: string;
  /** Claims by what people type as their login. */
  readonly people: Map<string, Record<string, unknown>>;
  close(): Promise<void>;
}

export const CLIENT = { clientId: 'carillon', clientSecret: 'a secret of the client' };

export async function startProvider(callbacks: {
  redirectUris: string[];
  logoutUris: string[];
}): Promise<ProviderFixture> {
  // Its types are not published.
  const { default: Provider } = (await import('oidc-provider' as string)) as {
    default: new (issuer: string, settings: object) => { callback(): Parameters<Server['on']>[1] };
  };
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people: ProviderFixture['people'] = new Map();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: callbacks.redirectUris,
        post_logout_redirect_uris: callbacks.logoutUris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email'],
      groups: ['groups'],
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['only for tests'] },
    findAccount: (_context: unknown, sub: string) =>
      people.has(sub)
        ? { accountId: sub, claims: async () => ({ sub: `subject of ${sub}`, ...people.get(sub) }) }
        : undefined,
    renderError: (context: { body: string }, out: { error: string }) => {
      context.body = out.error;
    },
  });
  server.on('request', provider.callback() as () => void);
  return {
    issuer,
    people,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Keeps cookies by host and port, follows redirects, and submits the forms of the provider. */
export class TestBrowser {
  /** Names of those that requests which another site caused do not carry. */
  readonly #strict = new Set<string>();
  readonly cookies = new Map<string, Map<string, string>>();
  readonly visited: string[] = [];

  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(url, { headers });
  }

  /** From a page to where it ends, signing in at the provider as this person. */
  async follow(url: string, login: string): Promise<{ url: string; response: Response }> {
    let at = url;
    let response = await this.get(at);
    let wasElsewhere = false;
    for (let step = 0; step < 20; step += 1) {
      const to = response.headers.get('location');
      if (to !== null) {
        at = new URL(to, at).href;
        // The page that people land on is not part of this.
        if (!at.includes('/api/oidc/') && new URL(at).host === new URL(url).host)
          return { url: at, response };
        wasElsewhere ||= new URL(at).host !== new URL(url).host;
        response = await this.#send(at, {}, wasElsewhere);
        continue;
      }
      const page = await response.text();
      const form = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
      if (form === undefined) return { url: at, response };
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? '';
      const body = new URLSearchParams({ prompt, ...(prompt === 'login' && { login, password: 'any' }) });
      at = new URL(form, at).href;
      response = await this.#send(at, { method: 'POST', body });
    }
    throw new Error('too many steps');
  }

  cookie(url: string, isFromElsewhere = false): string {
    return [...(this.cookies.get(new URL(url).host) ?? [])]
      .filter(([name]) => !isFromElsewhere || !this.#strict.has(name))
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
  }

  async #send(url: string, init: RequestInit, isFromElsewhere = false): Promise<Response> {
    this.visited.push(url);
    const headers = {
      ...(init.headers as Record<string, string>),
      cookie: this.cookie(url, isFromElsewhere),
    };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    const { host } = new URL(url);
    const jar = this.cookies.get(host) ?? new Map<string, string>();
    this.cookies.set(host, jar);
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0/i.test(line)) jar.delete(name);
      else jar.set(name, value);
      if (/samesite=strict/i.test(line)) this.#strict.add(name);
    }
    return response;
  }
}
