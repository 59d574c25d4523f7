/** Counts over time, what goes on now, and failures by group. */
import type { FailureFilter, FailureGroup, RunStats, StatsFilter, StatsNow } from '../generated/types.ts';
import type { CallOptions } from '../wire/transport.ts';
import { Resource } from './resource.ts';

export class Stats extends Resource {
  /** Attempts by the minute or hour in which they ended. */
  overTime(query: StatsFilter = {}, options: CallOptions = {}): Promise<RunStats> {
    return this.read('/stats', options, { ...query });
  }

  /** Whether the system keeps up. */
  now(query: { readonly namespace?: string | undefined } = {}, options: CallOptions = {}): Promise<StatsNow> {
    return this.read('/stats/now', options, { ...query });
  }

  /** Failures that are alike, the most frequent first. */
  failures(query: FailureFilter = {}, options: CallOptions = {}): Promise<readonly FailureGroup[]> {
    return this.read('/failures', options, { ...query });
  }
}
