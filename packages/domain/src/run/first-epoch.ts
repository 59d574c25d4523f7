/** What an epoch says of how often a run was handed out. After a restore of the database epochs count from a higher number on. */

/** A run is handed out fewer times than this within one generation. */
export const EPOCHS_PER_GENERATION_BITS = 19;
const EPOCHS_PER_GENERATION = 2 ** EPOCHS_PER_GENERATION_BITS;

/** Epochs count from 1, and after a restore from the first of the generation. A run from before the restore counts as new there. */
export function isFirstEpoch(epoch: number): boolean {
  return epoch === 1 || (epoch > 0 && epoch % EPOCHS_PER_GENERATION === 0);
}

/** How many times the run was handed out by now, as far as this generation of the database knows. */
export function timesHandedOut(epoch: number): number {
  return epoch < EPOCHS_PER_GENERATION ? epoch : (epoch % EPOCHS_PER_GENERATION) + 1;
}
