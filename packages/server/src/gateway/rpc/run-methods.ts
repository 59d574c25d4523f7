/** What runs have answered and written, as streams: a result may be large, and a log goes on until its run has ended. */
import { logFacts, RUN_LOGS_QUERY, readId, readLogPosition, rpc, toRunLogsQuery } from '@carillon/contract';
import type { RunId } from '@carillon/domain';
import type { Operations } from '../../operations/operations.ts';
import type { FollowedLog } from '../../operations/run-logs.ts';
import { readParts } from '../../run-logs/run-logs.ts';
import { reading } from '../api/operation.ts';
import { readFields, requireField } from './bind-rpc.ts';
import { type RpcMethod, serverStream } from './rpc-method.ts';

const { method } = rpc.JobService;
const LOG = reading(RUN_LOGS_QUERY, toRunLogsQuery);

export function runMethods(operations: Operations): RpcMethod[] {
  return [
    serverStream(method.getRunResult, ['runs.read', 'payloads.read'], async function* ({ caller, request }) {
      const result = await operations.getResult(caller, readRunId(request.runId));
      if (typeof result === 'string') return yield { data: Buffer.from(result) };
      for await (const data of readParts([result], { from: 0, bytes: result.bytes })) yield { data };
    }),

    serverStream(
      method.getRunArtifact,
      ['runs.read', 'payloads.read'],
      async function* ({ caller, request }) {
        const named = { name: requireField(request.name, 'name'), attempt: request.attempt };
        const file = await operations.getArtifact(caller, readRunId(request.runId), named);
        for await (const data of readParts([file], { from: 0, bytes: file.bytes })) yield { data };
      },
    ),

    serverStream(method.watchRunLog, 'logs.read', async function* ({ caller, request, recognise, signal }) {
      const { run_id: _, after_id: afterId, ...fields } = rpc.fieldsOf(method.watchRunLog.input, request);
      const query = readFields(LOG, fields, { isQuery: true }) as ReturnType<typeof toRunLogsQuery>;
      const after = readLogPosition(afterId as string | undefined);
      const options = { ...query, after, recognise, signal };
      const { items, close } = await operations.followRunLog(caller, readRunId(request.runId), options);
      try {
        for await (const message of items) yield messageOfLog(message);
      } finally {
        close();
      }
    }),
  ];
}

function readRunId(given: string): RunId {
  return readId(requireField(given, 'run_id'), 'run') as RunId;
}

function messageOfLog(message: FollowedLog): rpc.WatchRunLogResponse {
  const { data, ...place } = logFacts(message);
  const said = data === undefined ? {} : { [message.kind]: data };
  return rpc.messageFrom(rpc.WatchRunLogResponseSchema, { ...place, ...said });
}
