/** The states of a job and the one table of moves between them. */
export const JOB_STATUSES = ['SCHEDULED', 'PAUSED', 'CANCELLED', 'COMPLETED', 'FAILED'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A finished one-off can be run again by hand, but its own state stays; editing its schedule brings it back to SCHEDULED. */
const MOVES: Record<JobStatus, readonly JobStatus[]> = {
  SCHEDULED: ['PAUSED', 'CANCELLED', 'COMPLETED', 'FAILED'],
  PAUSED: ['SCHEDULED', 'CANCELLED', 'COMPLETED', 'FAILED'],
  COMPLETED: ['SCHEDULED', 'CANCELLED'],
  FAILED: ['SCHEDULED', 'CANCELLED'],
  CANCELLED: [],
};

export function canMoveJob(from: JobStatus, to: JobStatus): boolean {
  return MOVES[from].includes(to);
}
