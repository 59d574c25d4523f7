/** Work on many jobs or dead letters by one request: what can be done, and how much of it at once. */
export const BULK_ACTIONS = ['pause', 'resume', 'cancel'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** Per request: about two seconds of work. */
export const BULK_JOBS_MAX = 1_000;
export const BULK_LETTERS_MAX = 1_000;
