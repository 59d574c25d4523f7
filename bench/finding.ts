/** What a workload of Carillon alone found out: a figure held against its bar. */

export type Finding = {
  readonly bar: string;
  readonly what: string;
  readonly limit: string;
  readonly measured: string;
  readonly verdict: 'met' | 'not met' | 'failed';
};

type Claim = Pick<Finding, 'bar' | 'what' | 'limit'>;

export function judged(claim: Claim, measured: string, isMet: boolean): Finding {
  return { ...claim, measured, verdict: isMet ? 'met' : 'not met' };
}

/** Correctness comes before speed: a measurement that failed has no figure, whatever it was on the way to. */
export function failed(claim: Claim, error: unknown): Finding {
  return { ...claim, measured: error instanceof Error ? error.message : String(error), verdict: 'failed' };
}
