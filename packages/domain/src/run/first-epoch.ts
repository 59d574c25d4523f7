/** Which epoch says that a run was never handed out before. After a restore of the database epochs count from a higher number on. */

/** A run is handed out fewer times than this within one generation. */
export const EPOCHS_PER_GENERATION_BITS = 19;
const EPOCHS_PER_GENERATION = 2 ** EPOCHS_PER_GENERATION_BITS;

/** Epochs count from 1, and after a restore from the first of the generation. A run from before the restore counts as new there. */
export function isFirstEpoch(epoch: number): boolean {
  return epoch === 1 || (epoch > 0 && epoch % EPOCHS_PER_GENERATION === 0);
}
