/**
 * Who may do what: one table, role by action. Each role may do everything the one before it may. A role is granted in a
 * namespace or for the whole installation; actions marked `installation` need a grant for the whole.
 */
export const ROLES = ['viewer', 'observer', 'operator', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The least role that may do it. */
export const ACTIONS = {
  'jobs.read': 'viewer',
  'runs.read': 'viewer',
  'dead_letters.read': 'viewer',
  'events.read': 'viewer',
  'payloads.read': 'observer',
  'logs.read': 'observer',
  'schedules.preview': 'viewer',
  'namespaces.read': 'viewer',
  'handlers.read': 'viewer',
  'jobs.run': 'operator',
  'jobs.pause': 'operator',
  'jobs.cancel': 'operator',
  'runs.cancel': 'operator',
  'runs.rerun': 'operator',
  'dead_letters.redrive': 'operator',
  'jobs.create': 'editor',
  'jobs.update': 'editor',
  'jobs.delete': 'editor',
  'scripts.submit': 'admin',
  'keys.read': 'admin',
  'keys.manage': 'admin',
  'signing_keys.read': 'admin',
  'signing_keys.manage': 'admin',
  'secrets.read': 'editor',
  'secrets.manage': 'admin',
  'audit.read': 'admin',
  'workers.read': 'viewer',
  'workers.manage': 'operator',
  'workers.connect': 'admin',
  'metrics.read': 'viewer',
  'users.read': 'admin',
  'users.manage': 'admin',
  'namespaces.manage': 'admin',
} as const satisfies Record<string, Role>;

export type Action = keyof typeof ACTIONS;
export const ACTION_NAMES = Object.keys(ACTIONS) as readonly Action[];

/** What belongs to no namespace: a grant in one of them is not enough. */
export const INSTALLATION_ACTIONS: ReadonlySet<Action> = new Set([
  'workers.read',
  'workers.manage',
  'metrics.read',
  'users.read',
  'users.manage',
  'namespaces.manage',
] satisfies Action[]);

/** Changes nothing: such requests can be served apart from those that do. */
export function isReading(action: Action): boolean {
  return action.endsWith('.read') || action === 'schedules.preview';
}

export function roleAllows(role: Role, action: Action): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(ACTIONS[action]);
}

/** The table of roles and actions in docs/security.md stands between these markers. */
export const ROLES_BEGIN = '<!-- roles -->';
export const ROLES_END = '<!-- /roles -->';

export function renderRoles(): string {
  const rows = ACTION_NAMES.map((action) => {
    const cells = ROLES.map((role) => (roleAllows(role, action) ? '✓' : ''));
    const where = INSTALLATION_ACTIONS.has(action) ? 'whole installation' : 'namespace';
    return `| \`${action}\` | ${cells.join(' | ')} | ${where} |`;
  });
  return [
    `| permission | ${ROLES.join(' | ')} | granted in |`,
    `|---|${ROLES.map(() => ':-:|').join('')}---|`,
    ...rows,
  ].join('\n');
}
