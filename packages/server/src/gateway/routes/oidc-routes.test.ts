/** Signing in with a real OpenID Connect provider: who one is afterwards, and what leads nowhere. */
import type { AddressInfo } from 'node:net';
import { parseGroupGrant } from '@carillon/domain';
import { systemClock } from '@carillon/foundation';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { OidcSignIn } from '../../oidc/oidc-sign-in.ts';
import { GatewayFixture, PASSWORD } from '../gateway.fixture.ts';
import { CLIENT, startProvider, TestBrowser } from './oidc-provider.fixture.ts';
import { localPath } from './oidc-routes.ts';

const GRANTS = ['staff=viewer@*', 'billing=editor@billing', 'billing=operator@billing', 'admins=admin@*'];

// The provider tells everybody that its defaults are for tests.
beforeEach(() => {
  for (const method of ['warn', 'info'] as const)
    onTestFinished(vi.spyOn(console, method).mockReturnValue(undefined).mockRestore);
});

async function scene(over: { clientSecret?: string; grants?: readonly string[] } = {}) {
  // The gateway asks only when somebody comes, so the provider may learn its port first.
  const begun: { oidc?: OidcSignIn } = {};
  const oidc = {
    label: 'Example Corp',
    begin: (...given: Parameters<OidcSignIn['begin']>) => begun.oidc!.begin(...given),
    finish: (...given: Parameters<OidcSignIn['finish']>) => begun.oidc!.finish(...given),
    logoutUrl: (...given: Parameters<OidcSignIn['logoutUrl']>) => begun.oidc!.logoutUrl(...given),
  } as OidcSignIn;
  const fixture = new GatewayFixture({ oidc });
  await fixture.namespace('billing');
  await fixture.app.listen({ port: 0, host: '127.0.0.1' });
  const here = `http://127.0.0.1:${(fixture.app.server.address() as AddressInfo).port}`;
  const provider = await startProvider({
    redirectUris: [`${here}/api/oidc/callback`],
    logoutUris: [`${here}/login`],
  });
  onTestFinished(async () => {
    await fixture.app.close();
    await provider.close();
  });
  begun.oidc = new OidcSignIn(
    {
      ...{ ...CLIENT, issuer: provider.issuer, label: 'Example Corp', groupsClaim: 'groups' },
      scopes: ['openid', 'profile', 'email', 'groups'],
      grants: (over.grants ?? GRANTS).flatMap((line) => parseGroupGrant(line) ?? []),
      ...(over.clientSecret !== undefined && { clientSecret: over.clientSecret }),
    },
    { clock: systemClock },
  );
  const ada = {
    preferred_username: 'Ada',
    name: 'Ada Lovelace',
    email: 'ada@example.org',
    groups: ['staff'],
  };
  provider.people.set('ada', ada);
  const signIn = async (login = 'ada', { browser = new TestBrowser(), next = '/jobs?ns=billing' } = {}) => {
    const start = `${here}/api/oidc/start?next=${encodeURIComponent(next)}`;
    const { url } = await browser.follow(start, login);
    // biome-ignore lint/suspicious/noExplicitAny: as answers are read in all tests of the gateway.
    const who = (await (await browser.get(`${here}/api/session`)).json()) as any;
    return { url, who, browser };
  };
  return { fixture, provider, here, ada, signIn };
}

describe('with a provider', () => {
  it('a person comes back signed in, where they wanted to go, with what their groups are worth', async () => {
    const { fixture, here, provider, signIn } = await scene();
    const { url, who, browser } = await signIn();
    expect(url).toBe(`${here}/jobs?ns=billing`);
    expect(who).toMatchObject({
      ...{ kind: 'user', name: 'ada', method: 'oidc', csrf_token: expect.any(String) },
      grants: [{ namespace: '*', role: 'viewer', own_only: false }],
    });
    const { body: users } = await fixture.ask('GET', '/api/users?name=ada');
    expect(users).toMatchObject([
      { display_name: 'Ada Lovelace', has_password: false, issuer: provider.issuer },
    ]);
    // Neither the code nor what was kept for the way stays.
    expect([...browser.cookies.get(new URL(here).host)!.keys()]).toEqual([
      `carillon_session_${new URL(here).port}`,
    ]);
    const { body: log } = await fixture.ask('GET', '/api/audit?action=session.sign_in');
    expect(log).toMatchObject([{ actor: { kind: 'user', name: 'ada' }, after: { method: 'oidc' } }]);
  });

  it('the session that the browser had before ends, although its cookie does not come back from the provider', async () => {
    const { fixture, here, signIn } = await scene();
    const first = await signIn();
    const former = first.browser.cookie(here);
    const isOpen = async (cookie: string) =>
      (await fixture.askAs({ host: new URL(here).host, cookie }, 'GET', '/api/session')).status === 200;
    expect(await isOpen(former)).toBe(true);
    const second = await signIn('ada', { browser: first.browser });
    expect(second.who).toMatchObject({ name: 'ada' });
    expect(await isOpen(second.browser.cookie(here))).toBe(true);
    expect(await isOpen(former)).toBe(false);
    const { body: log } = await fixture.ask('GET', '/api/audit?action=session.sign_out');
    expect(log).toMatchObject([{ actor: { kind: 'user', name: 'ada' } }]);
  });

  it('grants follow the groups at every sign-in, and nobody without one gets in', async () => {
    const { fixture, provider, ada, signIn, here } = await scene();
    const { who } = await signIn();
    provider.people.set('ada', { ...ada, preferred_username: 'lovelace', groups: ['billing', 'unknown'] });
    const second = await signIn();
    expect(second.who).toMatchObject({
      ...{ user_id: who.user_id, name: 'ada' },
      grants: [{ namespace: 'billing', role: 'editor', own_only: false }],
    });
    provider.people.set('ada', { ...ada, groups: [] });
    const third = await signIn();
    expect(third.url).toBe(`${here}/login?error=no_access`);
    expect(third.who.status).toBe(401);
    const { body: user } = await fixture.ask('GET', `/api/users/${who.user_id}`);
    expect(user.grants).toEqual([]);
    provider.people.set('eve', { preferred_username: 'eve', groups: ['unknown'] });
    expect((await signIn('eve')).url).toBe(`${here}/login?error=no_access`);
    expect((await fixture.ask('GET', '/api/users?name=eve')).body).toEqual([]);
    const { body: refused } = await fixture.ask('GET', '/api/audit?action=session.refused');
    expect(refused).toHaveLength(2);
  });

  it('never takes over a user of the same name, nor one of another subject', async () => {
    const { fixture, provider, ada, signIn } = await scene();
    const local = await fixture.person('ada', [{ namespace: '*', role: 'admin' }]);
    const { who } = await signIn();
    expect(who).toMatchObject({ name: 'ada-2', grants: [{ role: 'viewer' }] });
    expect(who.user_id).not.toBe(local.userId);
    provider.people.set('imposter', ada);
    expect((await signIn('imposter')).who.name).toBe('ada-3');
    expect((await fixture.ask('GET', `/api/users/${local.userId}`)).body).toMatchObject({
      ...{ name: 'ada', has_password: true, issuer: null },
    });
  });

  it('who was disabled here stays out, and no password can be set for them', async () => {
    const { fixture, here, signIn } = await scene();
    const { who } = await signIn();
    const password = await fixture.post(`/api/users/${who.user_id}/password`, { password: PASSWORD });
    expect([password.status, password.body.code]).toEqual([403, 'forbidden']);
    await fixture.ask('PATCH', `/api/users/${who.user_id}`, { payload: { disabled: true } });
    expect((await signIn()).url).toBe(`${here}/login?error=refused`);
  });

  it('an administrator may make users and keys within an hour of signing in, without a password', async () => {
    const { fixture, provider, here, ada, signIn } = await scene();
    provider.people.set('ada', { ...ada, groups: ['admins'] });
    const { who, browser } = await signIn();
    const headers = {
      host: new URL(here).host,
      cookie: browser.cookie(here),
      'x-csrf-token': who.csrf_token,
    };
    const make = (name: string) => fixture.askAs(headers, 'POST', '/api/users', { name });
    expect((await make('bob')).status).toBe(201);
    const key = { name: 'deploy', namespace: 'default', role: 'viewer' };
    expect((await fixture.askAs(headers, 'POST', '/api/keys', key)).status).toBe(201);
    fixture.clock.advance(3_600_001);
    expect((await make('eve')).body.detail).toContain('sign in again');
    expect((await fixture.askAs(headers, 'POST', '/api/keys', key)).body.code).toBe('password_required');
  });

  it('signing out can lead to the provider, and back', async () => {
    const { fixture, provider, here, signIn } = await scene();
    const { who, browser } = await signIn();
    const headers = {
      host: new URL(here).host,
      cookie: browser.cookie(here),
      'x-csrf-token': who.csrf_token,
    };
    expect((await fixture.askAs(headers, 'DELETE', '/api/session')).status).toBe(204);
    const response = await browser.get(`${here}/api/oidc/logout`);
    const to = new URL(response.headers.get('location')!);
    expect(to.origin).toBe(provider.issuer);
    expect(to.searchParams.get('post_logout_redirect_uri')).toBe(`${here}/login`);
    expect(to.searchParams.get('client_id')).toBe('carillon');
  });
});

describe('a way back that does not fit', () => {
  it('another browser cannot finish what one began, nor can anybody twice', async () => {
    const { here, signIn } = await scene();
    const { browser } = await signIn();
    const callback = browser.visited.find((url) => url.startsWith(`${here}/api/oidc/callback`))!;
    const other = new TestBrowser();
    const refused = await other.get(callback);
    expect(refused.headers.get('location')).toBe(`${here}/login?error=expired`);
    expect(other.cookie(here)).toBe('');
    // It has begun an attempt of its own: the state is another one.
    await other.get(`${here}/api/oidc/start`);
    const mixed = await other.get(callback);
    expect(mixed.headers.get('location')).toBe(`${here}/login?error=expired`);
    expect(mixed.headers.getSetCookie().join()).not.toContain('carillon_session');
  });

  it('a wrong secret of the client, a refusal of the provider and a provider that is away say so', async () => {
    const { here, signIn, provider } = await scene({ clientSecret: 'wrong' });
    expect((await signIn()).url).toBe(`${here}/login?error=refused`);
    const browser = new TestBrowser();
    const start = await browser.get(`${here}/api/oidc/start`);
    const state = new URL(start.headers.get('location')!).searchParams.get('state')!;
    const denied = await browser.get(
      `${here}/api/oidc/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(provider.issuer)}`,
    );
    expect(denied.headers.get('location')).toBe(`${here}/login?error=refused`);
  });

  it('a provider that cannot be reached keeps nobody else out', async () => {
    const oidc = new OidcSignIn(
      {
        ...{ ...CLIENT, issuer: 'http://127.0.0.1:9', label: 'Gone', groupsClaim: 'groups' },
        ...{ scopes: ['openid'], grants: [] },
      },
      { clock: systemClock },
    );
    const fixture = new GatewayFixture({ oidc, address: 'https://jobs.example' });
    await fixture.person('ada');
    const { statusCode, headers } = await fixture.app.inject({ url: '/api/oidc/start' });
    expect([statusCode, headers.location]).toEqual([302, 'https://jobs.example/login?error=unavailable']);
    expect((await fixture.signIn('ada')).cookie).toContain('__Host-carillon_session=');
  });

  it('the way begins with PKCE, state and nonce, and a cookie that no script can read', async () => {
    const { here } = await scene();
    const response = await new TestBrowser().get(`${here}/api/oidc/start?next=//elsewhere.example`);
    const asked = new URL(response.headers.get('location')!).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: `${here}/api/oidc/callback` },
      ...{ state: expect.any(String), nonce: expect.any(String), code_challenge: expect.any(String) },
    });
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^carillon_oidc_\d+=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
    const [, kept = ''] = /=([\w-]+);/.exec(cookie)!;
    expect(JSON.parse(Buffer.from(kept, 'base64url').toString())).toMatchObject({ next: '/' });
  });

  it('guesses are limited for their address', async () => {
    const { here } = await scene();
    const browser = new TestBrowser();
    await browser.get(`${here}/api/oidc/start`);
    const kept = browser.cookie(here);
    const words: (string | null)[] = [];
    for (let n = 0; n < 31; n += 1) {
      const answer = await new TestBrowser().get(`${here}/api/oidc/callback?code=x&state=y`, {});
      words.push(answer.headers.get('location'));
      browser.cookies.set(new URL(here).host, new Map([kept.split('=', 2) as [string, string]]));
      words.push((await browser.get(`${here}/api/oidc/callback?code=x&state=y`)).headers.get('location'));
    }
    expect(words).toContain(`${here}/login?error=rate_limited`);
  });
});

describe('the ways of signing in', () => {
  it('are told to everybody', async () => {
    const { here } = await scene();
    expect(await (await fetch(`${here}/api/session/methods`)).json()).toEqual({
      ...{ password: true, ticket: true, key: true },
      oidc: { label: 'Example Corp', start_url: '/api/oidc/start', logout_url: '/api/oidc/logout' },
    });
    const without = new GatewayFixture();
    expect((await without.askAs({}, 'GET', '/api/session/methods')).body.oidc).toBeNull();
    expect((await without.ask('GET', '/api/oidc/start')).status).toBe(404);
  });

  it.each([
    ['/jobs?x=1#y', '/jobs?x=1#y'],
    ['//elsewhere.example', '/'],
    ['/\\elsewhere.example', '/'],
    ['https://elsewhere.example', '/'],
    ['/a\nb', '/'],
    ['/a\\b', '/'],
    [undefined, '/'],
    [['/a', '/b'], '/'],
    [`/${'x'.repeat(2_000)}`, '/'],
  ])('%j leads to %j', (given, path) => {
    expect(localPath(given)).toBe(path);
  });
});
