import { describe, expect, it } from 'vitest';
import { type Caller, type Grant, SERVER } from './caller.ts';
import { mayOffer, WORKER_SCOPES, workerGrants, workerNamespaces } from './worker-rights.ts';

const grant = (namespace: string, over: Partial<Grant> = {}): Grant => ({
  ...{ namespace, role: 'admin', ownOnly: false },
  ...over,
});
const withGrants = (grants: readonly Grant[], over: Partial<Caller> = {}): Caller => ({
  ...{ ...SERVER, kind: 'key', id: 'k', name: 'k', grants },
  ...over,
});
const workerKey = withGrants([grant('media')], { scopes: WORKER_SCOPES, offers: ['resize', 'script'] });

describe('a worker key', () => {
  it('offers its handlers and no others, for its namespaces', () => {
    expect(['resize', 'script', 'http'].map((handler) => mayOffer(workerKey, handler))).toEqual([
      true,
      true,
      false,
    ]);
    expect(workerNamespaces(workerKey)).toEqual(['media']);
  });

  it('offers nothing once its grants are gone', () => {
    const bare = { ...workerKey, grants: [] };
    expect(mayOffer(bare, 'resize')).toBe(false);
    expect(workerNamespaces(bare)).toEqual([]);
  });
});

describe('callers with other rights', () => {
  it('an administrator of everything offers any handler for all namespaces', () => {
    expect(mayOffer(SERVER, 'anything')).toBe(true);
    expect(workerNamespaces(SERVER)).toBe('all');
    expect(workerGrants(SERVER)).toEqual([grant('*')]);
  });

  it('an administrator of a namespace offers for it alone', () => {
    const admin = withGrants([grant('media'), grant('ops', { role: 'editor' })]);
    expect(workerNamespaces(admin)).toEqual(['media']);
    expect(workerGrants(admin)).toEqual([grant('media')]);
  });

  it.each([
    ['an editor', withGrants([grant('*', { role: 'editor' })])],
    ['an administrator of their own jobs', withGrants([grant('*', { ownOnly: true })], { userId: 'u' })],
    ['a key for reading', withGrants([grant('*')], { scopes: new Set(['jobs.read']) })],
  ])('%s offers nothing', (_, caller) => {
    expect(mayOffer(caller, 'http')).toBe(false);
    expect(workerNamespaces(caller)).toEqual([]);
  });

  it('namespaces that are named are taken once each', () => {
    expect(workerGrants(SERVER, ['a', 'b', 'a'])).toEqual([grant('a'), grant('b')]);
  });
});
