/** Stops one run: a waiting one ends at once, a living one is asked to stop. Its job and its other runs go on. */
import { type Caller, Refusal, type RunId } from '@carillon/domain';
import { auditEntry } from './audit-log.ts';
import type { OperationPorts } from './operation-ports.ts';
import { requireRun, runNotFound } from './visible-run.ts';

/** ended: it was waiting, and is cancelled. asked: it is running, and will be. */
export type CancelledRun = 'asked' | 'ended';

export function cancelRun(ports: OperationPorts) {
  return async (caller: Caller, runId: RunId): Promise<CancelledRun> => {
    const [latest] = await ports.storage.runs.attempts(runId, ports.clock.now());
    if (!latest) throw runNotFound(runId);
    const { jobId } = latest;
    const job = await requireRun(ports, { caller, runId, jobId, action: 'runs.cancel' });
    const nowMs = ports.clock.now();
    const subject = { kind: 'run', id: runId };
    const audit = auditEntry(caller, { action: 'runs.cancel', namespace: job?.namespace, subject }, nowMs);
    const verdict = await ports.storage.jobs.cancelRun(runId, nowMs, audit);
    switch (verdict) {
      case 'unknown':
        throw runNotFound(runId);
      case 'finished':
        throw new Refusal('run_already_finished', `The run ${runId} has ended already.`);
      case 'asked':
        ports.signals.send('cancel-requested', { runIds: [runId] });
        return verdict;
      case 'ended':
        ports.signals.send('slots-freed', { jobIds: [jobId] });
        return verdict;
    }
  };
}
