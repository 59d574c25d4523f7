/** What remote workers and servers say to each other. */
export * from './frame-queue.ts';
export * from './generated/carillon/worker/v1/workers_pb.js';
export * from './messages.ts';

/** The highest that this version knows. */
export const PROTOCOL = 1;
/** What one message may hold. */
export const FRAME_BYTES_MAX = 4 * 1_024 * 1_024;
