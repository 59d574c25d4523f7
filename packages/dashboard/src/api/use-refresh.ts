/** How often a screen asks again by itself: seldom while the stream tells what changed, more often while it is lost, never when paused. */

import { useLive } from './live.tsx';
import { POLLING } from './polling.ts';

export function useRefreshMs(): number | false {
  const { state } = useLive();
  if (state === 'paused') return false;
  return state === 'open' ? POLLING.withStreamMs : POLLING.withoutStreamMs;
}
