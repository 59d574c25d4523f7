/** Views and preferences: everybody has their own, bounded, and a caller who is no user has none and is told why. */
import { VIEWS_MAX } from '@carillon/domain';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const VIEW = { screen: 'jobs', name: 'Paused', query: { status: 'PAUSED', sort: 'name' } };
const idOf = (number: number) => `01893f2e-7c11-7b3a-9d4e-${String(number).padStart(12, '0')}`;

let gateway: GatewayFixture;
let ada: { cookie: string; 'x-csrf-token': string };

beforeEach(async () => {
  gateway = new GatewayFixture();
  await gateway.person('ada', [{ namespace: 'default', role: 'viewer' }]);
  ada = await gateway.signIn('ada');
});
afterEach(() => gateway.app.close());

const put = (who: typeof ada, number: number, over: object = {}) =>
  gateway.askAs(who, 'PUT', `/api/me/views/${idOf(number)}`, { ...VIEW, ...over });

it('a view is saved, renamed, listed and deleted by its user, and unknown to all others', async () => {
  await gateway.person('bob', [{ namespace: '*', role: 'admin' }]);
  const bob = await gateway.signIn('bob');
  const saved = { ...VIEW, view_id: idOf(1), updated_at: expect.any(String) };
  expect(await put(ada, 1)).toMatchObject({ status: 200, body: saved });
  expect(await put(ada, 1, { name: ' Paused ones ' })).toMatchObject({ body: { name: 'Paused ones' } });
  expect((await gateway.askAs(ada, 'GET', '/api/me/views')).body).toEqual([
    { ...saved, name: 'Paused ones' },
  ]);
  expect((await gateway.askAs(bob, 'GET', '/api/me/views')).body).toEqual([]);
  expect(await gateway.askAs(bob, 'DELETE', `/api/me/views/${idOf(1)}`)).toMatchObject({
    ...{ status: 404, body: { code: 'view_not_found' } },
  });
  expect((await gateway.askAs(ada, 'DELETE', `/api/me/views/${idOf(1)}`)).status).toBe(204);
  expect((await gateway.askAs(ada, 'GET', '/api/me/views')).body).toEqual([]);
});

it('names are there once per screen, and there is an end to views and to their size', async () => {
  await put(ada, 1);
  expect(await put(ada, 2)).toMatchObject({ status: 409, body: { code: 'view_name_taken', field: 'name' } });
  expect((await put(ada, 2, { screen: 'runs' })).status).toBe(200);
  for (let number = 3; number <= VIEWS_MAX; number += 1) await put(ada, number, { name: `View ${number}` });
  expect(await put(ada, VIEWS_MAX + 1, { name: 'One more' })).toMatchObject({
    ...{ status: 409, body: { code: 'views_full' } },
  });
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`filter${index}`, 'x']));
  for (const wrong of [
    { name: '   ' },
    { name: 'x'.repeat(81) },
    { query: many },
    { query: { status: 'x'.repeat(501) } },
    { query: { status: 1 } },
    { screen: 'secrets' },
  ])
    expect((await put(ada, 1, wrong)).status, JSON.stringify(wrong).slice(0, 60)).toBe(400);
});

it('preferences are replaced, and null where nothing was chosen', async () => {
  const mine = '/api/me/preferences';
  expect((await gateway.askAs(ada, 'GET', mine)).body).toEqual({ zone: null, scheme: null, shortcuts: null });
  const chosen = { zone: 'Asia/Tokyo', scheme: 'dark', shortcuts: false };
  expect((await gateway.askAs(ada, 'PUT', mine, chosen)).status).toBe(200);
  expect((await gateway.askAs(ada, 'GET', mine)).body).toEqual(chosen);
  expect((await gateway.askAs(ada, 'PUT', mine, { scheme: 'pink' })).status).toBe(400);
});

it('a zone is one that there is, that of the browser or that of the job: no page could show times in another', async () => {
  const put = (zone: string) => gateway.askAs(ada, 'PUT', '/api/me/preferences', { zone });
  const refused = { status: 400, body: { code: 'zone_unknown', field: 'zone' } };
  expect(await put('Nowhere/Land')).toMatchObject(refused);
  expect(await put('+02:00')).toMatchObject(refused);
  expect((await put('Europe/Pariss')).body.detail).toContain('did you mean Europe/Paris?');
  for (const [zone, kept] of [
    ['local', 'local'],
    ['job', 'job'],
    ['europe/paris', 'Europe/Paris'],
  ] as const)
    expect(await put(zone)).toMatchObject({ status: 200, body: { zone: kept } });
});

it('are for a key only where it has all the rights of its user', async () => {
  const grants = [
    { namespace: 'default', role: 'editor' },
    { namespace: 'team', role: 'viewer' },
  ] as const;
  const { userId: ownerId } = await gateway.person('eve', grants);
  const eve = await gateway.signIn('eve');
  const preferences = { zone: 'Asia/Tokyo', scheme: null, shortcuts: null };
  expect((await gateway.askAs(eve, 'PUT', '/api/me/preferences', preferences)).status).toBe(200);
  await put(eve, 1);
  const refused = { status: 409, body: { code: 'settings_of_nobody' } };
  const asViewer = await gateway.keyWith({ namespace: '*', role: 'viewer' }, { ownerId });
  for (const lesser of [
    asViewer,
    await gateway.keyWith({ namespace: 'default', role: 'admin' }, { ownerId }),
    await gateway.keyWith({ namespace: '*', role: 'admin', ownOnly: true }, { ownerId }),
    await gateway.keyWith({ namespace: '*', role: 'admin' }, { ownerId, scopes: ['jobs.read'] }),
  ]) {
    const asked = (method: 'GET' | 'PUT' | 'DELETE', url: string, payload?: object) =>
      gateway.askWith(lesser, method, url, payload && { payload });
    expect((await asked('GET', '/api/me/views')).body).toEqual([]);
    expect((await asked('GET', '/api/me/preferences')).body).toMatchObject({ zone: null });
    expect(await asked('PUT', '/api/me/preferences', { zone: 'UTC' })).toMatchObject(refused);
    expect(await asked('PUT', `/api/me/views/${idOf(1)}`, VIEW)).toMatchObject(refused);
    expect(await asked('DELETE', `/api/me/views/${idOf(1)}`)).toMatchObject(refused);
    if (lesser === asViewer)
      expect((await asked('GET', `/api/sessions?user_id=${ownerId}`)).status).toBe(403);
  }
  const whole = await gateway.keyWith({ namespace: '*', role: 'admin' }, { ownerId });
  expect((await gateway.askWith(whole, 'GET', '/api/me/preferences')).body).toEqual(preferences);
  const changed = await gateway.askWith(whole, 'PUT', '/api/me/preferences', { payload: { zone: 'UTC' } });
  expect(changed.status).toBe(200);
});

it('the admin key has none and is told so; a change without the token of the session is refused', async () => {
  expect((await gateway.ask('GET', '/api/me/views')).body).toEqual([]);
  expect((await gateway.ask('GET', '/api/me/preferences')).body).toMatchObject({ zone: null });
  const refused = { status: 409, body: { code: 'settings_of_nobody' } };
  expect(await gateway.ask('PUT', `/api/me/views/${idOf(1)}`, { payload: VIEW })).toMatchObject(refused);
  expect(await gateway.ask('PUT', '/api/me/preferences', { payload: {} })).toMatchObject(refused);
  const { cookie } = ada;
  const forged = { headers: { cookie, authorization: '' }, payload: VIEW };
  expect((await gateway.ask('PUT', `/api/me/views/${idOf(1)}`, forged)).status).toBeGreaterThanOrEqual(401);
});
