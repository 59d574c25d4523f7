/** What remote workers and servers say to each other. */
export * from './frame-queue.ts';
export * from './generated/carillon/worker/v1/workers_pb.js';
export * from './messages.ts';
