/**
 * How often the page asks by itself, and for how long an answer counts as new. What the stream tells of is asked for when it changes
 * (refresher.ts); these are for what it does not tell, and for a stream that is lost.
 */
export const POLLING = {
  /** Lists and jobs, while the stream tells what changed, and while it is lost. */
  withStreamMs: 15_000,
  withoutStreamMs: 4_000,
  /** One run that has not ended: its progress. */
  runMs: 2_000,
  /** Why it waits: the place in the line moves. */
  whyRunMs: 3_000,
  /** One worker, and what it runs. */
  workerMs: 3_000,
  /** Workers tell of their slots with every beat. */
  workersMs: 5_000,
  /** Whether the system keeps up. */
  nowMs: 5_000,
  /** Charts, failures by group, and what starts within the next hour. */
  overviewMs: 15_000,
};

export const KEPT = {
  /** Unless something else is said. */
  anyMs: 5_000,
  /** What somebody types changes it. */
  previewMs: 10_000,
  workerNamesMs: 30_000,
  /** What people change seldom: names, views, who is signed in, calendars. */
  seldomMs: 60_000,
};
