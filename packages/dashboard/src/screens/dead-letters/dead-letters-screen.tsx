/** Runs that were given up: why, and sending them round again, one or many. */

import type { DeadLetter } from '@carillon/client';
import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { BulkBar } from '../../ui/bulk/bulk-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { JobChip, UserChip } from '../../ui/filter-chips.tsx';
import { ChoiceFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { withHiddenNote } from '../../ui/hidden-note.tsx';
import { Instant } from '../../ui/instant.tsx';
import { optionsOf } from '../../ui/options.ts';
import { RedriveButton } from '../../ui/redrive-button.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { REDRIVE, readLetterName } from './redrive-action.ts';
import { RedriveMany } from './redrive-many.tsx';

const route = getRouteApi('/shell/dead');

const REASONS = optionsOf({
  retries_exhausted: 'retries exhausted',
  not_retryable: 'not retryable',
  deadline_passed: 'deadline passed',
  crashed_workers: 'crashed its workers',
  never_started: 'never started',
  retries_stopped: 'retries stopped',
});

const wordOf = (reason: string) => REASONS.find(({ value }) => value === reason)?.label ?? reason;

/** Letters that were redriven in this list, and how they get there. */
interface Ended {
  readonly ids: ReadonlySet<string>;
  readonly end: (runId: string, isEnded: boolean) => void;
}

const columnsOf = (ended: Ended): readonly Column<DeadLetter>[] => [
  {
    key: 'job',
    title: 'Job',
    width: 'minmax(96px, 2fr)',
    cell: ({ job_id: jobId, job_name: name }) => (
      <Link to="/jobs/$jobId" params={{ jobId }}>
        {name ?? <span className="mono">{jobId.slice(0, 8)}</span>}
      </Link>
    ),
  },
  {
    key: 'reason',
    title: 'Given up because',
    width: '150px',
    from: 'sm',
    below: true,
    cell: ({ reason }) => wordOf(reason),
  },
  {
    key: 'error',
    title: 'Error',
    width: 'minmax(96px, 3fr)',
    from: 'sm',
    below: true,
    linesBelow: 2,
    cell: ({ error_message: error }) =>
      error === null ? (
        <span className="muted">–</span>
      ) : (
        <span title={withHiddenNote(error)}>{error.split('\n', 1)[0]}</span>
      ),
  },
  {
    key: 'attempts',
    title: 'Attempts',
    width: '74px',
    from: 'md',
    align: 'right',
    cell: ({ attempts }) => attempts,
  },
  {
    key: 'died',
    title: 'Given up',
    width: '120px',
    from: 'sm',
    cell: ({ died_at: at }) => <Instant at={at} />,
  },
  {
    key: 'handled',
    title: '',
    width: '88px',
    cell: (letter) => <Handled letter={letter} ended={ended} />,
  },
];

function Handled({ letter, ended }: { letter: DeadLetter; ended: Ended }) {
  const next = letter.redriven_run_id ?? letter.resolved_by;
  if (next !== null)
    return (
      <Link to="/runs/$runId" params={{ runId: next }}>
        {letter.redriven_run_id === null ? 'resolved' : 'run again'}
      </Link>
    );
  const { run_id: runId, job_name: jobName } = letter;
  const row = {
    isEnded: ended.ids.has(runId),
    end: (isEnded: boolean) => ended.end(runId, isEnded),
  };
  return <RedriveButton {...{ runId, jobName, row }} size="compact-xs" />;
}

/** They are told apart for as long as the screen is shown. */
function useEnded(): Ended {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return useMemo(
    () => ({
      ids,
      end: (runId, isEnded) =>
        setIds((before) => new Set([...before].filter((id) => id !== runId).concat(isEnded ? runId : []))),
    }),
    [ids],
  );
}

function emptyTitle(
  { job, error, reason, handler, user, handled }: ReturnType<typeof route.useSearch>,
  narrowed: boolean,
): string {
  const ofJobAlone =
    job !== undefined && [error, reason, handler, user].every((value) => value === undefined);
  if (handled) return ofJobAlone ? 'None of this job was handled yet' : 'None was handled yet';
  if (ofJobAlone) return 'No dead letters of this job';
  return narrowed ? 'No dead letter matches' : 'No dead letters';
}

export function DeadLettersScreen() {
  const search = route.useSearch();
  const { change } = useFilters<typeof search>();
  const navigate = useNavigate();
  const { ns, error, reason, handler, job, handled = false, user } = search;
  const filter = { namespace: ns, error, reason, handler, job_id: job, user_id: user };
  const narrowed = [error, reason, handler, job, user].some((value) => value !== undefined);
  const maySearch = may(useCaller(), 'payloads.read', { namespace: ns });
  const ended = useEnded();
  const columns = useMemo(() => columnsOf(ended), [ended]);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [items, setItems] = useState<readonly DeadLetter[]>([]);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Dead letters
        </Title>
        {!handled && (
          <RedriveMany
            filter={filter}
            startsOpen={search.open === 'redrive'}
            onStarted={() => change({ open: undefined })}
          />
        )}
      </Group>
      <Text size="sm" c="dimmed">
        Runs that Carillon has given up. Nothing happens to them until somebody redrives them: each then runs
        again as a new run, with its job as it is now.
      </Text>
      <FilterBar
        onClear={
          narrowed
            ? () =>
                change({
                  ...{ error: undefined, reason: undefined, handler: undefined },
                  ...{ job: undefined, user: undefined },
                })
            : undefined
        }
      >
        <SegmentedControl
          size="xs"
          aria-label="Which"
          data={[
            { value: 'open', label: 'Open' },
            { value: 'handled', label: 'Handled' },
          ]}
          value={handled ? 'handled' : 'open'}
          onChange={(value) => change({ handled: value === 'handled' ? true : undefined })}
        />
        {maySearch && (
          <TextFilter
            main
            label="Part of the error"
            value={error}
            onChange={(value) => change({ error: value })}
          />
        )}
        <ChoiceFilter
          label="Reason"
          width={170}
          value={reason}
          options={REASONS}
          onChange={(value) => change({ reason: value })}
        />
        <TextFilter
          label="Handler"
          width={120}
          value={handler}
          onChange={(value) => change({ handler: value })}
        />
        <JobChip id={job} onRemove={() => change({ job: undefined })} />
        <UserChip id={user} onRemove={() => change({ user: undefined })} />
      </FilterBar>
      {ticked.size > 0 && !handled && (
        <BulkBar
          noun="dead letter"
          ids={[...ticked]}
          // All that match are redriven by the button above.
          filter={undefined}
          actions={[REDRIVE]}
          namespace={ns}
          nameOf={async (id) =>
            items.find(({ run_id: runId }) => runId === id)?.job_name ?? readLetterName(id)
          }
          onClear={() => setTicked(new Set())}
        />
      )}
      <VirtualList
        label="Dead letters"
        queryKey={queryKeys.deadLetters(search)}
        list={() => carillon.deadLetters.list({ ...filter, handled, limit: 50 })}
        columns={columns}
        ended={handled ? undefined : ended.ids}
        selection={handled ? undefined : { ids: ticked, change: setTicked }}
        idOf={({ run_id: id }) => id}
        onItems={setItems}
        onOpen={({ run_id: runId }) => void navigate({ to: '/runs/$runId', params: { runId } })}
        empty={
          <Empty title={emptyTitle(search, narrowed)}>
            {narrowed
              ? 'There may be others: drop a filter to see them.'
              : handled
                ? 'Those that were redriven, run again or have succeeded since stand here.'
                : 'No run was given up, or all of them were handled.'}
          </Empty>
        }
      />
    </Stack>
  );
}
