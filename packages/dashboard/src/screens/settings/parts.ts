/** The parts of the settings, and what each wants. */
import type { Action } from '../../api/session.ts';

export type PartName = 'me' | 'namespaces' | 'users' | 'keys' | 'secrets' | 'audit';

interface Part {
  readonly name: PartName;
  readonly label: string;
  /** Left out: everybody. */
  readonly action?: Action;
}

export const PARTS: readonly Part[] = [
  { name: 'me', label: 'My account' },
  { name: 'namespaces', label: 'Namespaces', action: 'namespaces.read' },
  { name: 'users', label: 'Users', action: 'users.read' },
  { name: 'keys', label: 'Keys' },
  { name: 'secrets', label: 'Secrets', action: 'secrets.read' },
  { name: 'audit', label: 'Audit log', action: 'audit.read' },
];
