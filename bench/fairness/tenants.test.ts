import { expect, it } from 'vitest';
import { ownedBy, tenantOf } from './tenants.ts';

it('the large tenant has the oldest two fifths, the others share the rest', () => {
  const jobs = 1_000;
  const owners = Array.from({ length: jobs }, (_, index) => tenantOf(index, { jobs, count: 11 }));
  expect(owners.slice(0, 400).every((tenant) => tenant === 0)).toBe(true);
  for (let tenant = 1; tenant <= 10; tenant += 1)
    expect(owners.slice(400).filter((owner) => owner === tenant)).toHaveLength(60);
});

it('a single tenant has everything', () => {
  expect(tenantOf(999, { jobs: 1_000, count: 1 })).toBe(0);
});

it('tenants are users or namespaces', () => {
  expect(ownedBy('users', 7)).toEqual({ userId: 'tenant-7' });
  expect(ownedBy('namespaces', 7)).toEqual({ namespace: 'tenant-7' });
});
