/** What became of many jobs that were sent, in one sentence: what was there already was not made again. */
import { countOf } from './count-of.ts';

export interface MadeCounts {
  readonly made: number;
  readonly there: number;
  readonly refused: number;
}

export function madeText({ made, there, refused }: MadeCounts): string {
  const already = there === 0 ? '' : `, ${there} ${there === 1 ? 'was' : 'were'} there already`;
  return `${countOf(made, 'job')} made${already}, ${refused} refused.`;
}
