/** The columns of runs, the same in every list of them. */
import type { ListedRun, ShortRun } from '@carillon/client';
import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Instant, Took } from '../../ui/instant.tsx';
import { StateBadge, stateWord } from '../../ui/state-badge.tsx';
import { duration } from '../../ui/time.ts';
import type { Column } from '../../ui/virtual-list.tsx';
import { WorkerLink } from '../../ui/worker-link.tsx';

/** A start later than this is marked: what the product promises. */
const LATE_MS = 2_000;

/** Of each run its last attempt. */
export const RUN_COLUMNS: readonly Column<ShortRun & Partial<ListedRun>>[] = [
  {
    key: 'status',
    title: 'State',
    width: 'minmax(88px, 150px)',
    cell: (run) => <RunState run={run} />,
  },
  {
    key: 'due',
    title: 'Due',
    width: 'minmax(72px, 130px)',
    cell: ({ scheduled_at: at }) => <Instant at={at} />,
  },
  {
    key: 'delay',
    title: 'Started after',
    width: '100px',
    from: 'md',
    align: 'right',
    cell: (run) => <Delay run={run} />,
  },
  {
    key: 'took',
    title: 'Took',
    width: '90px',
    from: 'sm',
    align: 'right',
    cell: ({ started_at: from, ended_at: to }) => <Took from={from} to={to} />,
  },
  {
    key: 'attempt',
    title: 'Attempts',
    width: '74px',
    from: 'md',
    align: 'right',
    cell: (run) => run.attempt_number,
  },
  {
    key: 'worker',
    title: 'Worker',
    width: '110px',
    from: 'lg',
    cell: ({ worker_id: workerId }) => <WorkerLink workerId={workerId} />,
  },
  {
    key: 'why',
    title: 'Reason or error',
    width: 'minmax(140px, 3fr)',
    from: 'sm',
    cell: (run) => <Why run={run} />,
  },
];

/** With the job, for runs of several. */
export const LISTED_RUN_COLUMNS: readonly Column<ListedRun>[] = [
  RUN_COLUMNS[0]!,
  {
    key: 'job',
    title: 'Job',
    width: 'minmax(90px, 2fr)',
    cell: ({ job_id: jobId, job_name: name }) => (
      <Link to="/jobs/$jobId" params={{ jobId }}>
        {name ?? <span className="mono">{jobId.slice(0, 8)}</span>}
      </Link>
    ),
  },
  ...RUN_COLUMNS.slice(1),
] as readonly Column<ListedRun>[];

/** Where each attempt is a row. */
export const LISTED_ATTEMPT_COLUMNS: readonly Column<ListedRun>[] = LISTED_RUN_COLUMNS.map((column) =>
  column.key === 'attempt' ? { ...column, title: 'Attempt' } : column,
);

function RunState({ run }: { run: ShortRun & Partial<ListedRun> }) {
  const { run_id: runId, attempt_number: attempt, tried_again: triedAgain = false } = run;
  const state = run.status === 'QUEUED' && attempt > 1 ? 'RETRYING' : run.status;
  const words = `${stateWord(state)}${triedAgain ? ', tried again' : ''}`;
  return (
    <Link to="/runs/$runId" params={{ runId }} aria-label={`${words}, run ${runId}`} title={words}>
      <StateBadge state={state} triedAgain={triedAgain} />
    </Link>
  );
}

function Delay({ run }: { run: ShortRun }) {
  const { start_delay_ms: ms } = run;
  if (ms === null) return <span className="muted">–</span>;
  return (
    <Text
      span
      inherit
      fw={ms > LATE_MS ? 600 : undefined}
      title={ms > LATE_MS ? 'later than 2 s' : undefined}
    >
      {duration(ms)}
      {ms > LATE_MS ? ' !' : ''}
    </Text>
  );
}

function Why({ run }: { run: ShortRun }) {
  const { progress, error_message: error, reason } = run;
  if (progress !== null && run.ended_at === null)
    return <span>{`${progress.percent} %${progress.message === null ? '' : ` · ${progress.message}`}`}</span>;
  const text = error ?? reason;
  return text === null ? (
    <span className="muted">–</span>
  ) : (
    <span title={text}>{text.split('\n', 1)[0]}</span>
  );
}
