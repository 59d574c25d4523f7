/** How many other jobs fire at the same instant, in words. */
import type { SchedulePreview } from '@carillon/client';

type Others = SchedulePreview['others_at'][number];

/** Fewer at the same instant are nothing to worry about. */
export const HERD_MIN = 50;

/** "412 others", "1,000+ others". */
export function othersText({ count, more }: Pick<Others, 'count' | 'more'>, what = 'others'): string {
  return `${count.toLocaleString('en')}${more ? '+' : ''} ${what}`;
}

/** The most at one of these instants; undefined: too few to tell of. */
export function worstOf(others: readonly Others[]): Others | undefined {
  return others
    .filter(({ count }) => count >= HERD_MIN)
    .reduce<Others | undefined>((worst, one) => (worst && worst.count >= one.count ? worst : one), undefined);
}
