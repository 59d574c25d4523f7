/**
 * Bounds how much of one kind goes on at once, such as streams: for each caller, and in total. Administrators of a namespace make as many keys as
 * they like, each a caller of its own: neither one namespace nor the keys that one person has made get all of it, and the last tenth is kept
 * for callers of the whole installation.
 */
import { type Action, type Caller, callerKey, EVERYWHERE, Refusal, visibleTo } from '@carillon/domain';

const NAMESPACE_SHARE = 0.4;
/** More than that of a namespace: who makes the keys of several has some left for the others when one uses all of its own. */
const MAKER_SHARE = 0.6;
const KEPT_SHARE = 0.1;

export interface SharedLimitOptions {
  /** What there is so much of, as in "4 logs are followed for you already". */
  readonly what: string;
  /** What to do about it. Left out: to close a stream. */
  readonly advice?: string;
  readonly eachMax: number;
  readonly totalMax: number;
}

interface Counted {
  readonly of: string;
  /** As in "4 logs are followed for the namespace a already". */
  readonly words: string;
}

interface Share extends Counted {
  readonly part: number;
}

/** Whom it is counted for. */
export interface Claimant extends Counted {
  /** What it is counted for beside them; none has the name of a claimant. */
  readonly shares: readonly Share[];
  readonly mayUseKept: boolean;
}

/** action: what it is about, which counts for the namespaces where the caller may do it. Left out: for all those of its grants. */
export function claimantOf(caller: Caller, action?: Action): Claimant {
  const self = { of: callerKey(caller), words: 'for you' };
  const reach = action === undefined ? grantedTo(caller) : visibleTo(caller, action);
  // Let in by those who run the installation: counts for nobody else.
  if (reach === undefined) return { ...self, shares: [], mayUseKept: true };
  const maker = caller.credential?.makerId ?? caller.userId;
  const shares: Share[] = [];
  if (maker !== undefined)
    shares.push({ of: `maker ${maker}`, words: 'with keys of one person', part: MAKER_SHARE });
  for (const name of new Set(reach.map(({ namespace }) => namespace))) {
    // Their own jobs everywhere are no namespace.
    if (name === EVERYWHERE) continue;
    shares.push({ of: `namespace ${name}`, words: `for the namespace ${name}`, part: NAMESPACE_SHARE });
  }
  return { ...self, shares, mayUseKept: false };
}

/** Undefined: the whole installation. */
function grantedTo({ grants }: Caller): Caller['grants'] | undefined {
  return grants.some(({ namespace, ownOnly }) => namespace === EVERYWHERE && !ownOnly) ? undefined : grants;
}

export class SharedLimit {
  readonly #options: SharedLimitOptions;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(options: SharedLimitOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** Answers how to leave, which counts once. */
  join(claimant: Claimant): () => void {
    const refusal = this.refusalOf(claimant);
    if (refusal) throw refusal;
    const names = [claimant, ...claimant.shares].map(({ of }) => of);
    this.#count(names, 1);
    let isLeft = false;
    return () => {
      if (!isLeft) this.#count(names, -1);
      isLeft = true;
    };
  }

  /** Undefined: there is room. */
  refusalOf(claimant: Claimant): Refusal | undefined {
    const { what, advice = 'close one of these streams', eachMax, totalMax } = this.#options;
    const maxOf = (part: number) => Math.max(1, Math.floor(totalMax * part));
    const shares = claimant.shares.map((share) => ({ ...share, max: maxOf(share.part) }));
    for (const { of, words, max } of [{ ...claimant, max: eachMax }, ...shares]) {
      const count = this.#counts.get(of) ?? 0;
      if (count < max) continue;
      return new Refusal('too_many_listeners', `${count} ${what} ${words} already; ${advice}.`);
    }
    const kept = claimant.mayUseKept ? 0 : Math.floor(totalMax * KEPT_SHARE);
    if (this.#total < totalMax - kept) return undefined;
    return new Refusal('overloaded', `${this.#total} ${what} in total already; try again later.`);
  }

  #count(names: readonly string[], change: 1 | -1): void {
    this.#total += change;
    for (const name of names) {
      const count = (this.#counts.get(name) ?? 0) + change;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }
}
