/** Signing in with the admin key, or with a ticket that stands for it: once, for a while, as nobody, and until there are people. */
import { SERVER } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { describe, expect, it } from 'vitest';
import { Accounts } from '../accounts/accounts.ts';
import { adminKeyDigest } from '../accounts/admin-key.ts';
import { CACHED_MS } from '../accounts/identities.ts';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { NODE } from '../operations/operations.fixture.ts';
import { GatewayFixture, KEY, PASSWORD } from './gateway.fixture.ts';

const me = '/api/session';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ADMIN = { namespace: '*', role: 'admin' } as const;

async function signInWith(fixture: GatewayFixture, body: object) {
  const answer = await fixture.askAs({}, 'POST', me, body);
  const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
  return { ...answer, browser: { cookie, 'x-csrf-token': String(answer.body.csrf_token) } };
}

describe('what the command needs to find the server', () => {
  it('is told to administrators of all namespaces alone', async () => {
    const fixture = new GatewayFixture({ commandFlags: () => ' --data /srv/carillon' });
    expect((await fixture.ask('GET', me)).body.command_flags).toBe(' --data /srv/carillon');
    await fixture.person('ada', [{ namespace: '*', role: 'admin' }]);
    await fixture.person('eve', [{ role: 'admin' }, { namespace: '*', role: 'editor' }]);
    const flagsOf = async (name: string) =>
      (await fixture.askAs(await fixture.signIn(name), 'GET', me)).body.command_flags;
    expect(await flagsOf('ada')).toBe(' --data /srv/carillon');
    expect(await flagsOf('eve')).toBeNull();
  });
});

const ticketOf = (fixture: GatewayFixture) => fixture.everyones.issueTicket(SERVER);

describe('the admin key', () => {
  it('opens a session of nobody that may everything, for 12 hours at most', async () => {
    const fixture = new GatewayFixture();
    const { status, body, headers, browser } = await signInWith(fixture, { key: KEY });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...{ user: null, csrf_token: expect.any(String) },
      expires_at: '2030-01-02T00:00:00.000Z',
    });
    expect(String(headers['set-cookie'])).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    const who = await fixture.askAs({ cookie: browser.cookie }, 'GET', me);
    expect(who.body).toMatchObject({
      ...{ kind: 'key', id: 'admin', name: 'admin key', user_id: null },
      csrf_token: browser['x-csrf-token'],
      expires_at: '2030-01-02T00:00:00.000Z',
      grants: [{ ...ADMIN, own_only: false }],
    });
    fixture.clock.advance(12 * HOUR_MS);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(401);
  });

  it('is not any other key, nor part of one', async () => {
    const fixture = new GatewayFixture();
    const apiKey = await fixture.keyWith({ namespace: '*', role: 'admin' });
    for (const key of ['wrong', KEY.slice(1), apiKey]) {
      const { status, body } = await signInWith(fixture, { key });
      expect([status, body.code]).toEqual([401, 'sign_in_refused']);
    }
    const { body } = await fixture.ask('GET', '/api/audit?action=session.refused');
    expect(body).toHaveLength(3);
    expect(JSON.stringify(body)).not.toContain(apiKey);
  });

  it('is not opened from a page of another site, and its session changes nothing without the token', async () => {
    const fixture = new GatewayFixture();
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await fixture.askAs(foreign, 'POST', me, { key: KEY })).body.code).toBe('csrf_rejected');
    const { browser } = await signInWith(fixture, { key: KEY });
    const bare = await fixture.askAs({ cookie: browser.cookie }, 'POST', '/api/users', { name: 'ada' });
    expect(bare.body.code).toBe('csrf_rejected');
  });

  it('cannot be guessed quickly, and whoever guesses keeps nobody out who comes from elsewhere', async () => {
    const fixture = new GatewayFixture({ trustedProxies: ['127.0.0.1'] });
    const from = (address: string, key: string) =>
      fixture.askAs({ 'x-forwarded-for': address }, 'POST', me, { key });
    const guesses = [];
    for (let n = 0; n < 40; n += 1) guesses.push((await from('203.0.113.7', `guess ${n}`)).status);
    expect(guesses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 401));
    expect(guesses.slice(30)).toEqual(Array.from({ length: 10 }, () => 429));
    expect((await from('203.0.113.7', KEY)).status).toBe(429);
    expect((await from('198.51.100.7', KEY)).status).toBe(201);
  });
});

describe('signing in from within a session', () => {
  it('ends that session, as signing out does', async () => {
    const fixture = new GatewayFixture();
    await fixture.person('nina', [ADMIN]);
    const { browser } = await signInWith(fixture, { key: KEY });
    const asNina = { name: 'nina', password: PASSWORD };
    const signedIn = await fixture.askAs({ cookie: browser.cookie }, 'POST', me, asNina);
    expect(signedIn.status).toBe(201);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(401);
    const { body: left } = await fixture.ask('GET', '/api/audit?action=session.sign_out');
    expect(left).toMatchObject([{ actor: { name: 'admin key' } }]);
    const { body: sessions } = await fixture.ask('GET', '/api/sessions?all=true');
    expect(sessions).toMatchObject([{ user_name: 'nina' }]);
  });

  it('leaves it alone when the password is wrong, and minds no cookie that stands for nothing', async () => {
    const fixture = new GatewayFixture();
    await fixture.person('nina', [ADMIN]);
    const { browser } = await signInWith(fixture, { key: KEY });
    const wrong = { name: 'nina', password: 'no such password' };
    expect((await fixture.askAs({ cookie: browser.cookie }, 'POST', me, wrong)).status).toBe(401);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(200);
    const [name] = browser.cookie.split('=');
    const stale = { cookie: `${name}=nothing` };
    const right = { name: 'nina', password: PASSWORD };
    expect((await fixture.askAs(stale, 'POST', me, right)).status).toBe(201);
  });
});

describe('a ticket', () => {
  it('opens one session, on any server of the storage, and none after that', async () => {
    const fixture = new GatewayFixture();
    const ticket = await ticketOf(fixture);
    const tries = await Promise.all([1, 2, 3].map(() => signInWith(fixture, { ticket })));
    expect(tries.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
    const { browser } = tries.find(({ status }) => status === 201)!;
    const sessions = await fixture.askAs(browser, 'GET', '/api/sessions');
    expect(sessions.body).toMatchObject([
      { user_id: null, user_name: null, method: 'ticket', current: true },
    ]);
    const again = await signInWith(fixture, { ticket });
    expect(again.body.detail).toBe('The link was used before, or is more than 10 minutes old.');
    expect(again.body.fix).toContain('restart the server for a new link');
  });

  it('is worth nothing after ten minutes', async () => {
    const fixture = new GatewayFixture();
    const [early, late] = [await ticketOf(fixture), await ticketOf(fixture)];
    fixture.clock.advance(10 * MINUTE_MS - 1);
    expect((await signInWith(fixture, { ticket: early })).status).toBe(201);
    fixture.clock.advance(1);
    expect((await signInWith(fixture, { ticket: late })).status).toBe(401);
  });

  it('is issued to nobody who does not manage users', async () => {
    const fixture = new GatewayFixture();
    const viewer = { ...SERVER, grants: [{ namespace: 'default', role: 'viewer', ownOnly: false } as const] };
    await expect(fixture.everyones.issueTicket(viewer)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('in the audit log', () => {
  it('the admin key, a session that it opened and one that a ticket opened are told apart', async () => {
    const fixture = new GatewayFixture();
    const byKey = await signInWith(fixture, { key: KEY });
    const byTicket = await signInWith(fixture, { ticket: await ticketOf(fixture) });
    await fixture.post('/api/namespaces', { name: 'one' });
    await fixture.askAs(byKey.browser, 'POST', '/api/namespaces', { name: 'two' });
    await fixture.askAs(byTicket.browser, 'POST', '/api/namespaces', { name: 'three' });
    const { body } = await fixture.ask('GET', '/api/audit?action=namespaces.create');
    const said = body.map(({ actor }: { actor: { id: string; via: object | null } }) => [
      actor.id,
      actor.via,
    ]);
    const via = (name: string) => ({ kind: 'session', id: expect.any(String), name });
    expect(said).toEqual([
      ['admin', via('ticket')],
      ['admin', via('admin_key')],
      ['admin', null],
    ]);
    // What one session did is found by its id.
    const { id } = said[0][1];
    const { body: its } = await fixture.ask('GET', `/api/audit?actor=${id}`);
    expect(its.map(({ action }: { action: string }) => action)).toEqual([
      'namespaces.create',
      'session.sign_in',
    ]);
  });
});

describe('an admin key that was replaced', () => {
  it('ends its sessions and tickets on every server, when its server starts with another', async () => {
    const fixture = new GatewayFixture();
    const { browser } = await signInWith(fixture, { key: KEY });
    const byTicket = await signInWith(fixture, { ticket: await ticketOf(fixture) });
    const unused = await ticketOf(fixture);
    const { storage, clock, random, audit } = fixture;
    const restarted = new Accounts({
      ...{ store: storage.accounts, clock, random, audit, log: silentLog, counters: new MemoryCounters() },
      adminKey: { holder: NODE, digest: adminKeyDigest('another key') },
    });
    await restarted.start();
    fixture.clock.advance(CACHED_MS);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(401);
    expect((await fixture.askAs(byTicket.browser, 'GET', me)).status).toBe(401);
    expect((await signInWith(fixture, { ticket: unused })).status).toBe(401);
    await restarted.stop();
  });

  it('and one that stays the same ends nothing', async () => {
    const fixture = new GatewayFixture();
    const { browser } = await signInWith(fixture, { key: KEY });
    await fixture.accounts.start();
    fixture.clock.advance(CACHED_MS);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(200);
    await fixture.accounts.stop();
  });
});

describe('a body that signs in', () => {
  it.each([
    [{}, 'field_missing', 'name'],
    [{ name: 'ada' }, 'field_missing', 'password'],
    [{ password: 'x' }, 'field_missing', 'name'],
    [{ ticket: 'x', key: 'y' }, 'field_conflict', 'ticket'],
    [{ name: 'ada', password: 'x', key: 'y' }, 'field_conflict', 'key'],
    [{ ticket: '' }, 'field_invalid', 'ticket'],
  ])('%j is refused as %s of %s', async (body, code, field) => {
    const answer = await signInWith(new GatewayFixture(), body);
    expect(answer.body).toMatchObject({ code, field });
  });
});

describe('the first account', () => {
  const ada = { name: 'ada', password: PASSWORD, grants: [ADMIN] };

  it('is made with a session of the admin key, without another password, and then signs in', async () => {
    const fixture = new GatewayFixture();
    const { browser } = await signInWith(fixture, { ticket: await ticketOf(fixture) });
    const made = await fixture.askAs(browser, 'POST', '/api/users', ada);
    expect(made.status).toBe(201);
    const { 'x-csrf-token': token, cookie } = await fixture.signIn('ada');
    expect((await fixture.askAs({ cookie, 'x-csrf-token': token }, 'GET', me)).body.name).toBe('ada');
    const { body: audit } = await fixture.ask('GET', '/api/audit?action=users.create');
    const [{ session_id: id }] = (await fixture.askAs(browser, 'GET', '/api/sessions?all=true')).body.slice(
      -1,
    );
    const actor = {
      kind: 'key',
      id: 'admin',
      name: 'admin key',
      via: { kind: 'session', id, name: 'ticket' },
    };
    expect(audit).toMatchObject([{ actor }]);
    const { body: opened } = await fixture.ask('GET', '/api/audit?action=session.sign_in&actor=admin');
    expect(opened).toMatchObject([{ actor, after: { method: 'ticket' } }]);
    // The admin signs out, and Ada goes on.
    expect((await fixture.askAs(browser, 'DELETE', me)).status).toBe(204);
    expect((await fixture.askAs(browser, 'GET', me)).status).toBe(401);
    expect((await fixture.askAs({ cookie }, 'GET', me)).status).toBe(200);
  });

  it('and what else lasts takes a session of the last hour, so that a stolen one gives nothing that lasts', async () => {
    const fixture = new GatewayFixture();
    const { browser } = await signInWith(fixture, { key: KEY });
    const key = { name: 'deploy', namespace: 'default', role: 'viewer' };
    expect((await fixture.askAs(browser, 'POST', '/api/keys', key)).status).toBe(201);
    fixture.clock.advance(HOUR_MS + 1);
    const late = await fixture.askAs(browser, 'POST', '/api/users', ada);
    expect([late.status, late.body.code]).toEqual([403, 'forbidden']);
    expect(late.body.detail).toContain('sign in again');
    expect((await fixture.askAs(browser, 'POST', '/api/keys', key)).body.field).toBe('expires_at');
    const short = { ...key, expires_at: '2030-01-01T20:00:00Z' };
    expect((await fixture.askAs(browser, 'POST', '/api/keys', short)).status).toBe(201);
    expect((await fixture.askAs(browser, 'GET', '/api/users')).status).toBe(200);
    const again = await signInWith(fixture, { key: KEY });
    expect((await fixture.askAs(again.browser, 'POST', '/api/users', ada)).status).toBe(201);
  });
});
