/** Callers of namespaces, for tests of what is shared between them. */
import type { Claimant } from './shared-limit.ts';

export function claimantIn(namespaces: readonly string[], caller: string, maker?: string): Claimant {
  const shares = namespaces.map((name) => ({
    ...{ of: `namespace ${name}`, words: `for the namespace ${name}`, part: 0.4 },
  }));
  const made = { of: `maker ${maker}`, words: 'with keys of one person', part: 0.6 };
  return {
    ...{ of: caller, words: 'for you', mayUseKept: false },
    shares: maker === undefined ? shares : [made, ...shares],
  };
}

/** Of the whole installation. */
export const INSTALLATION: Claimant = { of: 'root', words: 'for you', shares: [], mayUseKept: true };
