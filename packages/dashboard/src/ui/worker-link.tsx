/** A worker by the name it gives itself, and that of a server by its server, as far as the caller may read workers; otherwise by the end of its id. */

import type { Worker } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { KEPT } from '../api/polling.ts';
import { queryKeys } from '../api/query-keys.ts';
import { may, useCaller } from '../api/session.ts';

const READ_MAX = 1_000;
const NODE_ID_SHOWN = 6;

export function useWorkerName(): (workerId: string) => string | undefined {
  const allowed = may(useCaller(), 'workers.read');
  const { data } = useQuery({
    queryKey: queryKeys.workerNames(),
    queryFn: async () => {
      const workers = await carillon.workers.list({ limit: READ_MAX }).toArray({ max: READ_MAX });
      const several = new Set(workers.filter(isOfServer).map(({ node_id: node }) => node)).size > 1;
      return new Map(workers.map((worker) => [worker.worker_id, nameOfWorker(worker, several)]));
    },
    staleTime: KEPT.workerNamesMs,
    enabled: allowed,
  });
  return (workerId) => data?.get(workerId) ?? undefined;
}

const isOfServer = ({ name, remote }: Worker) => name === null && !remote;

/** Of several servers, each is told by the end of its id. */
export function nameOfWorker(worker: Worker, several = true): string | null {
  if (!isOfServer(worker)) return worker.name;
  return several ? `worker of …${worker.node_id.slice(-NODE_ID_SHOWN)}` : "server's worker";
}

export function WorkerLink({ workerId }: { workerId: string | null }) {
  const nameOf = useWorkerName();
  const allowed = may(useCaller(), 'workers.read');
  if (workerId === null) return <span className="muted">–</span>;
  const name = nameOf(workerId);
  if (!allowed)
    return (
      <span className="mono" title={workerId}>
        {workerId.slice(-12)}
      </span>
    );
  return (
    <Link to="/workers/$workerId" params={{ workerId }} title={workerId}>
      {name ?? <span className="mono">{workerId.slice(-12)}</span>}
    </Link>
  );
}
