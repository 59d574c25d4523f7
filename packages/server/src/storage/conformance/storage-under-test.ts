/** What an adapter hands to the conformance suites: a storage with nothing in it, new for every test. */
import type { ManualClock } from '@carillon/foundation';
import type { Storage } from '../storage.ts';

export interface StorageUnderTest {
  readonly storage: Storage;
  /** The same data through another instance, as another server has it. Left out: an instance knows nothing that others do not. */
  readonly other?: Storage;
  /** Where the adapter's own clock can be turned by hand. */
  readonly clock?: ManualClock;
  /** As if namespaces that are gone had been removed so much earlier: their names rest by the adapter's own clock. */
  ageRemovals(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type MakeStorage = () => Promise<StorageUnderTest>;

/** Every test lives on this day and the next: time comes only from the instants passed in. */
export const BASE_MS = Date.UTC(2030, 0, 1);
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Later than anything a test plans. */
export const FAR_MS = BASE_MS + 3_650 * DAY_MS;
