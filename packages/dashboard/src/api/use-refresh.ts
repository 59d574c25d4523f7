/** How often a screen asks again by itself: seldom while the stream tells what changed, more often while it is lost, never when paused. */
import { useLive } from './live.tsx';

const WITH_STREAM_MS = 15_000;
const WITHOUT_STREAM_MS = 4_000;

export function useRefreshMs(): number | false {
  const { state } = useLive();
  if (state === 'paused') return false;
  return state === 'open' ? WITH_STREAM_MS : WITHOUT_STREAM_MS;
}
