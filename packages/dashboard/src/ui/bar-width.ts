/** How wide the bar of one bucket is drawn: as wide as its time is, less a gap to the next, and never invisible. */

const GAP = 0.1;
const WIDTH_PX_MIN = 1;
const WIDTH_PX_MAX = 40;

export function barWidthPx({
  bucketSeconds,
  spanSeconds,
  widthPx,
}: {
  readonly bucketSeconds: number;
  /** Of the whole chart. */
  readonly spanSeconds: number;
  readonly widthPx: number;
}): number {
  const width = (widthPx * bucketSeconds * (1 - GAP)) / spanSeconds;
  return Math.min(WIDTH_PX_MAX, Math.max(WIDTH_PX_MIN, width));
}
