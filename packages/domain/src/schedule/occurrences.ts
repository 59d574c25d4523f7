/**
 * What every recurring rule can answer about its nominal instants. Instants are UTC milliseconds, strictly increasing,
 * each one once. One implementation per kind of rule; occurrencesOf picks the one for a schedule.
 */
export interface Occurrences {
  /** The first instant after this one. */
  next(afterMs: number): number | undefined;
  /** The last instant at or before atMs, as long as it is not before floorMs. */
  previous(atMs: number, floorMs: number): number | undefined;
  /** How many lie in the range, both ends included. */
  count(fromMs: number, toMs: number): OccurrenceCount;
}

export interface OccurrenceCount {
  readonly count: number;
  /** False when the range was too long to look at every occurrence, and the number is an estimate. */
  readonly exact: boolean;
}
