import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  ACTION_NAMES,
  INSTALLATION_ACTIONS,
  isReading,
  ROLES,
  ROLES_BEGIN,
  ROLES_END,
  renderRoles,
  roleAllows,
} from './permissions.ts';

/** Written out by hand on purpose: a change of the table must be made twice, so that nobody makes it by accident. */
const VIEWER = [
  'jobs.read',
  'runs.read',
  'dead_letters.read',
  'events.read',
  'schedules.preview',
  'namespaces.read',
  'handlers.read',
  'workers.read',
  'metrics.read',
];
const OBSERVER = [...VIEWER, 'payloads.read', 'logs.read'];
const OPERATOR = [
  ...OBSERVER,
  'jobs.run',
  'jobs.pause',
  'jobs.cancel',
  'runs.cancel',
  'runs.rerun',
  'dead_letters.redrive',
  'workers.manage',
];
const EDITOR = [...OPERATOR, 'jobs.create', 'jobs.update', 'jobs.delete', 'secrets.read'];
const ADMIN = [
  ...EDITOR,
  'scripts.submit',
  'keys.read',
  'keys.manage',
  'signing_keys.read',
  'signing_keys.manage',
  'secrets.manage',
  'audit.read',
  'users.read',
  'users.manage',
  'namespaces.manage',
  'workers.connect',
];

describe('the table of roles and actions', () => {
  it.each([
    ['viewer', VIEWER],
    ['observer', OBSERVER],
    ['operator', OPERATOR],
    ['editor', EDITOR],
    ['admin', ADMIN],
  ] as const)('%s may exactly this', (role, expected) => {
    expect(ACTION_NAMES.filter((action) => roleAllows(role, action)).sort()).toEqual([...expected].sort());
  });

  it('a role may everything that the one before it may', () => {
    for (const action of ACTION_NAMES) {
      const allowed = ROLES.map((role) => roleAllows(role, action));
      expect([...allowed].sort()).toEqual(allowed);
    }
  });

  it('a viewer and an observer change nothing', () => {
    for (const action of ACTION_NAMES) {
      if (roleAllows('observer', action)) expect(isReading(action), action).toBe(true);
    }
  });

  it('what belongs to no namespace is named', () => {
    expect([...INSTALLATION_ACTIONS].sort()).toEqual([
      'metrics.read',
      'namespaces.manage',
      'users.manage',
      'users.read',
      'workers.manage',
      'workers.read',
    ]);
  });
});

it('docs/security.md shows the table of roles as it is', async () => {
  const page = await readFile(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
  const shown = page.slice(page.indexOf(ROLES_BEGIN) + ROLES_BEGIN.length, page.indexOf(ROLES_END));
  expect(shown.trim()).toBe(renderRoles());
});
