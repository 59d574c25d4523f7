/**
 * How often a screen asks again by itself: seldom while the stream tells what changed, at least every four seconds while it is lost,
 * never when paused. Everything that asks by itself takes its interval from here.
 */

import { useLive } from './live.tsx';
import { POLLING } from './polling.ts';

/** `everyMs`: how often while the stream is there. */
export function useRefreshMs(everyMs: number = POLLING.withStreamMs): number | false {
  const { state } = useLive();
  if (state === 'paused') return false;
  return state === 'open' ? everyMs : Math.min(everyMs, POLLING.withoutStreamMs);
}
