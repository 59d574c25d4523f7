/** The filters of the list of jobs, all of them in the address. */
import type { JobFilter } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { ChoiceFilter, ChoicesFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { stateWord } from '../../ui/state-badge.tsx';

export interface JobSearch {
  readonly ns?: string;
  readonly text?: string;
  readonly status?: string;
  readonly type?: string;
  readonly handler?: string;
  readonly label?: string;
  readonly priority?: string;
  readonly user?: string;
  readonly sort?: string;
}

const STATUSES = (['SCHEDULED', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const).map(
  (status) => ({ value: status, label: stateWord(status) }),
);
const TYPES = [
  { value: 'recurring', label: 'again and again' },
  { value: 'cron', label: 'by cron' },
  { value: 'interval', label: 'by interval' },
  { value: 'one-time', label: 'once' },
];
const PRIORITIES = ['high', 'medium', 'low'].map((value) => ({ value, label: `${value} priority` }));
const OWNERS = [{ value: 'me', label: 'my jobs' }];
const SORTS = [
  { value: '-created_at', label: 'newest first' },
  { value: 'created_at', label: 'oldest first' },
  { value: 'name', label: 'by name' },
  { value: 'next_run_at', label: 'next run first' },
  { value: '-updated_at', label: 'last changed first' },
  { value: 'priority', label: 'by priority' },
];
const HANDLERS_MAX = 200;

/** What the server is asked for; without the order it is also what a bulk action takes. */
export function jobFilterOf({ ns, user, label, sort: _, ...search }: JobSearch): Omit<JobFilter, 'sort'> {
  const { text, status, type, handler, priority } = search;
  return {
    ...{ text, status, type, handler, namespace: ns, user_id: user },
    label: label?.split(',').map((one) => one.trim()),
    priority: priority as JobFilter['priority'],
  };
}

export function isNarrowed({ sort: _, ns: __, ...search }: JobSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}

export function useClearFilters(): () => void {
  const { change } = useFilters<JobSearch>();
  return () =>
    change({
      ...{ text: undefined, status: undefined, type: undefined, handler: undefined },
      ...{ label: undefined, priority: undefined, user: undefined },
    });
}

export function JobFilters({ search }: { search: JobSearch }) {
  const { change } = useFilters<JobSearch>();
  const clear = useClearFilters();
  const { data: handlers = [] } = useQuery({
    queryKey: ['handlers', 'names'],
    queryFn: () => carillon.handlers.list({ limit: HANDLERS_MAX }).toArray({ max: HANDLERS_MAX }),
    staleTime: 60_000,
  });
  const names = new Set([...handlers.map(({ name }) => name), ...(search.handler ? [search.handler] : [])]);
  // A user that is not the caller, as another page linked here.
  const owners =
    search.user === undefined || search.user === 'me'
      ? OWNERS
      : [...OWNERS, { value: search.user, label: search.user }];
  return (
    <FilterBar onClear={isNarrowed(search) ? clear : undefined}>
      <TextFilter
        main
        width={150}
        label="Part of the name"
        value={search.text}
        onChange={(text) => change({ text })}
      />
      <ChoicesFilter
        label="State"
        width={120}
        value={search.status}
        options={STATUSES}
        onChange={(status) => change({ status })}
      />
      <ChoiceFilter
        label="Runs"
        width={125}
        value={search.type}
        options={TYPES}
        onChange={(type) => change({ type })}
      />
      <ChoiceFilter
        label="Handler"
        width={105}
        value={search.handler}
        options={[...names].map((name) => ({ value: name, label: name }))}
        onChange={(handler) => change({ handler })}
      />
      <TextFilter
        label="Label name:value"
        width={120}
        value={search.label}
        onChange={(label) => change({ label })}
      />
      <ChoiceFilter
        label="Priority"
        width={115}
        value={search.priority}
        options={PRIORITIES}
        onChange={(priority) => change({ priority })}
      />
      <ChoiceFilter
        label="Owner"
        width={95}
        value={search.user}
        options={owners}
        onChange={(user) => change({ user })}
      />
    </FilterBar>
  );
}

export function JobOrder({ search }: { search: JobSearch }) {
  const { change } = useFilters<JobSearch>();
  return (
    <ChoiceFilter
      label="Order"
      width={140}
      value={search.sort}
      options={SORTS}
      onChange={(sort) => change({ sort })}
    />
  );
}
