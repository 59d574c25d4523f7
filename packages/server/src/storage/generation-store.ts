/**
 * Generations of the storage. A database that was replaced by one that knows less (a failover to a standby that was behind, a
 * restored backup) would give out epochs and cursors of events again that somebody has already seen. Each replacement therefore
 * begins a new generation, and what is given out in a later one is larger than everything in those before.
 */
import { EPOCHS_PER_GENERATION_BITS } from '@carillon/domain';

/**
 * So many fit into the epochs of runs (31 bits) and the written cursors of events (15 digits): one a day lasts for nine years. The
 * last one does not end.
 */
export const GENERATIONS_MAX = 3_500;

export interface GenerationCheck {
  readonly generation: number;
  /** It is another one than this process has seen last, or this process has begun it: true once. */
  readonly isNew: boolean;
}

export interface GenerationStore {
  /**
   * Looks whether the database is the one that was seen last, and begins a new generation if it is not, or if it knows less than
   * this process has seen of it.
   */
  look(): Promise<GenerationCheck>;
  /** Begins a new generation; answers its number. */
  begin(): Promise<number>;
}

/** The first epoch of a generation; 0 in the first one, where epochs count from 1. */
export function firstEpochOf(generation: number): number {
  return generation * 2 ** EPOCHS_PER_GENERATION_BITS;
}
