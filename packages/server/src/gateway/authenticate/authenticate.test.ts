import { describe, expect, it } from 'vitest';
import { GatewayFixture, KEY, PASSWORD } from '../gateway.fixture.ts';

const me = '/api/session';

describe('a key in the Authorization header', () => {
  it('is who asks, and says so', async () => {
    const fixture = new GatewayFixture();
    const key = await fixture.keyWith({ role: 'operator' }, { scopes: ['jobs.read', 'jobs.run'] });
    const { status, body } = await fixture.askWith(key, 'GET', me);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ kind: 'key', name: 'operator key', user_id: null, csrf_token: null },
      grants: [{ namespace: 'default', role: 'operator', own_only: false }],
      scopes: ['jobs.read', 'jobs.run'],
    });
  });

  it.each([
    '',
    'Bearer',
    'Basic abc',
    'Bearer a b',
    `Bearer ${KEY}x`,
    `bearer  ck_aaaaaaaaaa_${'b'.repeat(43)}`,
  ])('that reads %j is refused, with the way to do better', async (authorization) => {
    const fixture = new GatewayFixture();
    const { status, headers, body } = await fixture.ask('GET', me, { headers: { authorization } });
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer realm="carillon"');
    expect(body.code).toBe('unauthorized');
  });

  it('beats a cookie that comes along: a wrong key is not made right by a session', async () => {
    const fixture = new GatewayFixture();
    await fixture.person('ada');
    const { cookie } = await fixture.signIn('ada');
    const wrong = await fixture.ask('GET', me, { headers: { cookie, authorization: 'Bearer nonsense' } });
    expect(wrong.status).toBe(401);
    const right = await fixture.ask('GET', me, { headers: { cookie } });
    expect(right.body.kind).toBe('key');
  });

  it('needs no CSRF token, and no page of ours', async () => {
    const fixture = new GatewayFixture();
    const key = await fixture.keyWith({ role: 'editor' });
    const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' };
    const payload = { name: 'x', handler: 'default' };
    expect((await fixture.askWith(key, 'POST', '/api/jobs', { headers, payload })).status).toBe(201);
  });
});

describe('a session', () => {
  const scene = async () => {
    const fixture = new GatewayFixture();
    await fixture.person('ada', [{ role: 'editor' }]);
    return { fixture, browser: await fixture.signIn('ada') };
  };
  const job = { name: 'x', handler: 'default' };

  it('travels in a cookie that scripts cannot read and other sites cannot use to post', async () => {
    const { fixture } = await scene();
    const { headers } = await fixture.post(me, { name: 'ada', password: PASSWORD });
    expect(String(headers['set-cookie'])).toMatch(
      /^carillon_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
    );
  });

  it('without TLS, its cookie has the port in its name: servers on one host do not mix or overwrite theirs', async () => {
    const { fixture } = await scene();
    const signIn = (host: string) =>
      fixture.post(me, { name: 'ada', password: PASSWORD }, { host, authorization: '' });
    const [one, other] = [await signIn('127.0.0.1:7420'), await signIn('127.0.0.1:7421')];
    const cookieOf = ({ headers }: typeof one) => String(headers['set-cookie']).split(';')[0]!;
    expect([one, other].map((answer) => cookieOf(answer).split('=')[0])).toEqual([
      'carillon_session_7420',
      'carillon_session_7421',
    ]);
    const ask = (host: string, cookie: string) => fixture.askAs({ host, cookie }, 'GET', me);
    const both = `${cookieOf(other)}; ${cookieOf(one)}`;
    expect((await ask('127.0.0.1:7420', both)).status).toBe(200);
    expect((await ask('127.0.0.1:7420', cookieOf(other))).status).toBe(401);
  });

  it('below a path, its cookie is sent there alone', async () => {
    const fixture = new GatewayFixture({ address: 'http://host.example:8080/carillon/' });
    await fixture.person('ada');
    const { headers } = await fixture.post(me, { name: 'ada', password: PASSWORD });
    expect(String(headers['set-cookie'])).toMatch(/^carillon_session_8080=.*; Path=\/carillon; HttpOnly;/);
    expect((await fixture.askAs(await fixture.signIn('ada'), 'GET', me)).status).toBe(200);
  });

  it('over TLS, its cookie goes nowhere else', async () => {
    const fixture = new GatewayFixture({ address: 'https://carillon.example' });
    await fixture.person('ada');
    const { headers } = await fixture.post(me, { name: 'ada', password: PASSWORD });
    expect(String(headers['set-cookie'])).toMatch(/^__Host-carillon_session=.*; Secure$/);
    const browser = await fixture.signIn('ada');
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(200);
    const planted = browser.cookie.replace('__Host-', '');
    expect((await fixture.askAs({ cookie: planted }, 'GET', me)).status).toBe(401);
  });

  it('tells who it is of, and the token for changes, again and again', async () => {
    const { fixture, browser } = await scene();
    const { body } = await fixture.askAs({ cookie: browser.cookie }, 'GET', me);
    expect(body).toMatchObject({ kind: 'user', name: 'ada', csrf_token: browser['x-csrf-token'] });
    expect(body.expires_at).toBe('2030-01-08T12:00:00.000Z');
  });

  it('reads without the token, and changes only with it', async () => {
    const { fixture, browser } = await scene();
    const { cookie } = browser;
    expect((await fixture.askAs({ cookie }, 'GET', '/api/jobs')).status).toBe(200);
    const bare = await fixture.askAs({ cookie }, 'POST', '/api/jobs', job);
    expect([bare.status, bare.body.code]).toEqual([403, 'csrf_rejected']);
    const other = await fixture.signIn('ada');
    const foreign = { cookie, 'x-csrf-token': other['x-csrf-token'] };
    expect((await fixture.askAs(foreign, 'POST', '/api/jobs', job)).body.code).toBe('csrf_rejected');
    expect((await fixture.askAs(browser, 'POST', '/api/jobs', job)).status).toBe(201);
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'same-origin' }, 201],
    [{ 'sec-fetch-site': 'none' }, 201],
    [{ origin: 'http://elsewhere.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:80' }, 201],
    [{ origin: 'http://localhost:81' }, 403],
  ])('from a page that says %j is answered %i', async (page, status) => {
    const { fixture, browser } = await scene();
    const headers = { host: 'localhost', ...browser, ...page };
    expect((await fixture.askAs(headers, 'POST', '/api/jobs', job)).status).toBe(status);
  });

  it('is not opened from a page of another site', async () => {
    const { fixture } = await scene();
    const foreign = { 'sec-fetch-site': 'cross-site' };
    const answer = await fixture.askAs(foreign, 'POST', me, { name: 'ada', password: PASSWORD });
    expect([answer.status, answer.body.code]).toEqual([403, 'csrf_rejected']);
  });

  it('ends by signing out, and the cookie is taken back', async () => {
    const { fixture, browser } = await scene();
    const { status, headers } = await fixture.askAs(browser, 'DELETE', me);
    expect(status).toBe(204);
    expect(String(headers['set-cookie'])).toMatch(/^carillon_session=; .*Max-Age=0/);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(401);
  });
});
