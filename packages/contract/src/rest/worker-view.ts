/** Workers as answers show them. */
import type { NodeId, WorkerId } from '@carillon/domain';
import { z } from 'zod';
import { instantText } from './instant-text.ts';

export const workerAnswer = z
  .strictObject({
    worker_id: z.string(),
    node_id: z.string().describe('The server process it belongs to.'),
    alive: z.boolean(),
    slots: z.int().describe('Runs it takes at once.'),
    running: z.int().describe('Runs it holds now.'),
    handlers: z.array(z.string()),
    last_seen: z.iso.datetime(),
  })
  .meta({ id: 'Worker' });

export function workerView(worker: {
  readonly workerId: WorkerId;
  readonly nodeId: NodeId;
  readonly alive: boolean;
  readonly slots: number;
  readonly running: number;
  readonly handlers: readonly string[];
  readonly lastSeenMs: number;
}): z.output<typeof workerAnswer> {
  return {
    worker_id: worker.workerId,
    node_id: worker.nodeId,
    alive: worker.alive,
    slots: worker.slots,
    running: worker.running,
    handlers: [...worker.handlers],
    last_seen: instantText(worker.lastSeenMs),
  };
}
