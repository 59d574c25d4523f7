/**
 * Priority decides which of the runs that wait get the next free slots: the highest first. So that nothing starves, a priority
 * whose oldest run has waited for long gets a share of the slots in any case.
 */
export const PRIORITIES = ['low', 'medium', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A run that has waited for this long is starving. */
export const STARVING_MS = 10 * 60_000;
/** One of so many slots goes to those who starve, however much that is more urgent waits. */
export const STARVING_SHARE = 8;
