/** Filters that only links and charts set, by the names of what they are about; each can be dropped. */
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../api/carillon.ts';
import { queryKeys } from '../api/query-keys.ts';
import { useUserNames } from '../screens/jobs/use-names.ts';
import { FilterChip } from './filters.tsx';
import { useWorkerName } from './worker-link.tsx';

const ID_SHOWN_MAX = 8;
/** The ids of workers begin alike. */
const WORKER_ID_SHOWN_MAX = 12;

interface ChipProps {
  /** Undefined: there is no such filter. */
  readonly id: string | undefined;
  readonly onRemove: () => void;
}

/** A job that is gone is named by its id. */
export function JobChip({ id, onRemove }: ChipProps) {
  const { data } = useQuery({
    queryKey: queryKeys.job(id),
    queryFn: ({ signal }) => carillon.jobs.get(id!, { signal }),
    enabled: id !== undefined,
    retry: false,
    placeholderData: undefined,
  });
  if (id === undefined) return null;
  return <FilterChip label="Job" value={data?.name ?? id.slice(0, ID_SHOWN_MAX)} onRemove={onRemove} />;
}

export function WorkerChip({ id, onRemove }: ChipProps) {
  const nameOf = useWorkerName();
  if (id === undefined) return null;
  return (
    <FilterChip label="Worker" value={nameOf(id) ?? id.slice(-WORKER_ID_SHOWN_MAX)} onRemove={onRemove} />
  );
}

export function UserChip({ id, onRemove }: ChipProps) {
  const name = useUserNames().find((user) => user.id === id)?.name;
  if (id === undefined) return null;
  return <FilterChip label="Owner" value={name ?? id.slice(0, ID_SHOWN_MAX)} onRemove={onRemove} />;
}
