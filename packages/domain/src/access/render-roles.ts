/** The table of roles and actions as Markdown, for docs/security.md between its markers. */
import { ACTION_NAMES, INSTALLATION_ACTIONS, ROLES, roleAllows } from './permissions.ts';

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
