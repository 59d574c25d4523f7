/** The filters of the list of jobs, all of them in the address. */
import type { JobFilter } from '@carillon/client';
import { useCaller } from '../../api/session.ts';
import { ChoiceFilter, ChoicesFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { optionsOf, withChosen } from '../../ui/options.ts';
import { stateWord } from '../../ui/state-badge.tsx';
import { ViewsMenu } from '../../views/views-menu.tsx';
import { useHandlers, useUserNames } from './use-names.ts';

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
const TYPES = optionsOf({
  recurring: 'again and again',
  cron: 'by cron',
  interval: 'by interval',
  'one-time': 'once',
});
const PRIORITIES = optionsOf({ high: 'high priority', medium: 'medium priority', low: 'low priority' });
const SORTS = optionsOf({
  '-created_at': 'newest first',
  created_at: 'oldest first',
  name: 'by name',
  next_run_at: 'next run first',
  '-updated_at': 'last changed first',
  priority: 'by priority',
});

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
  const known = useHandlers()?.map(({ name }) => name) ?? [];
  const handlers = withChosen(
    known.map((name) => ({ value: name, label: name })),
    search.handler,
  );
  const me = useCaller()?.user_id;
  const others = useUserNames().filter(({ id }) => id !== me);
  const owners = withChosen(
    [{ value: 'me', label: 'me' }, ...others.map(({ id, name }) => ({ value: id, label: name }))],
    search.user,
  );
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
        label="Schedule"
        width={125}
        value={search.type}
        options={TYPES}
        onChange={(type) => change({ type })}
      />
      <ChoiceFilter
        label="Handler"
        width={105}
        value={search.handler}
        options={handlers}
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
        width={105}
        value={search.user}
        options={owners}
        onChange={(user) => change({ user })}
      />
      <ViewsMenu screen="jobs" search={search as Readonly<Record<string, unknown>>} />
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
