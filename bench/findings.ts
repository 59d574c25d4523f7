/** What a workload of Carillon alone found out: each figure held against its bar. */
import { count } from './text-table.ts';

export type Finding = {
  readonly bar: string;
  readonly what: string;
  readonly limit: string;
  readonly measured: string;
  readonly verdict: 'met' | 'not met' | 'failed';
};

type Claim = Pick<Finding, 'bar' | 'what' | 'limit'>;

/** A claim about one figure, which knows its limit. */
export type Bound = Claim & { judge(figure: number, measured?: string): Finding };

type Limit = { readonly below: number } | { readonly atMost: number } | { readonly atLeast: number };

export function bound(
  bar: string,
  what: string,
  limit: Limit,
  words: (figure: number) => string = count,
): Bound {
  const claimed = (sign: string, value: number, isMet: (figure: number) => boolean): Bound => {
    const claim = { bar, what, limit: `${sign} ${words(value)}` };
    return { ...claim, judge: (figure, measured = words(figure)) => judged(claim, measured, isMet(figure)) };
  };
  if ('below' in limit) return claimed('<', limit.below, (figure) => figure < limit.below);
  if ('atMost' in limit) return claimed('≤', limit.atMost, (figure) => figure <= limit.atMost);
  return claimed('≥', limit.atLeast, (figure) => figure >= limit.atLeast);
}

export function judged({ bar, what, limit }: Claim, measured: string, isMet: boolean): Finding {
  return { bar, what, limit, measured, verdict: isMet ? 'met' : 'not met' };
}

/** Correctness comes before speed: where measuring fails there is no figure, whatever it was on the way to. */
export async function findingsOf(
  claims: readonly Claim[],
  measure: () => Promise<readonly Finding[]>,
  onFailed: (reason: string) => void = () => undefined,
): Promise<readonly Finding[]> {
  try {
    return await measure();
  } catch (error) {
    const measured = error instanceof Error ? error.message : String(error);
    onFailed(measured);
    return claims.map(({ bar, what, limit }) => ({ bar, what, limit, measured, verdict: 'failed' }));
  }
}
