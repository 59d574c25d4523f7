/** Accepts one job. Once it answers, the job is durable and will run; a repeated request with the same key finds it again. */
import type { Caller, JobInput } from '@carillon/domain';
import { announceFirst } from './announce.ts';
import { type CreatedJob, createdJob, jobMaker, missingNamespaces } from './new-job.ts';
import type { OperationPorts } from './operation-ports.ts';

export function createJob(ports: OperationPorts) {
  return async (
    caller: Caller,
    input: JobInput,
    options: { idempotencyKey?: string | undefined } = {},
  ): Promise<CreatedJob> => {
    const missing = await missingNamespaces([input], { caller, ports });
    const accepted = jobMaker({ caller, missing, ports })(input, options.idempotencyKey);
    const result = createdJob(await ports.ingest.accept(accepted), accepted, ports);
    if (result.created) announceFirst(ports, [accepted]);
    return result;
  };
}
