/**
 * When an occurrence is really started: its nominal instant plus the job's own share of the spread, so that a hundred
 * thousand jobs of midnight do not fall into one second. The delay of a job is always the same where the distance to
 * its next occurrence allows, and never reaches that next occurrence.
 */
import { nextFire } from './next-fires.ts';
import { isRecurring, type Schedule } from './schedule.ts';

export function fireTime(options: { schedule: Schedule; jobId: string; nominalMs: number }): number {
  const { schedule, jobId, nominalMs } = options;
  if (!isRecurring(schedule) || schedule.spreadMs <= 0) return nominalMs;
  const delayMs = hashOf(jobId) % schedule.spreadMs;
  const nextMs = nextFire(schedule, nominalMs);
  return nominalMs + (nextMs === undefined ? delayMs : delayMs % (nextMs - nominalMs));
}

/** FNV-1a with the final mix of MurmurHash3: ids that differ in a few digits only still spread evenly. */
function hashOf(text: string): number {
  let hash = 0x811c_9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
