/** The columns of runs, the same in every list of them. */

import type { ListedRun, ShortRun } from '@carillon/client';
import { Badge, Text, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { withHiddenNote } from '../../ui/hidden-note.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { useNow } from '../../ui/now.ts';
import { endedBeforeDue, isAgain, LATE_MS, waits } from '../../ui/run-state.ts';
import { StateBadge, StateIcon, stateWord } from '../../ui/state-badge.tsx';
import { duration, percent } from '../../ui/time.ts';
import type { Column } from '../../ui/virtual-list.tsx';
import { WorkerLink } from '../../ui/worker-link.tsx';

/** Of each run its last attempt. */
export const RUN_COLUMNS: readonly Column<ShortRun & Partial<ListedRun>>[] = [
  {
    key: 'status',
    title: 'State',
    width: 'minmax(88px, 150px)',
    cell: (run) => <RunState run={run} />,
  },
  {
    key: 'started',
    title: 'Started',
    width: 'minmax(78px, 130px)',
    cell: (run) => <Started run={run} />,
  },
  // Where there is less room, it is told by how long after it the run started.
  {
    key: 'due',
    title: 'Due',
    width: '110px',
    from: 'lg',
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
    cell: (run) => <AttemptNumber run={run} />,
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
    below: true,
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

/** A run that has not started, or never will, is told apart by the word before its time. */
function Started({ run }: { run: ShortRun }) {
  const { started_at: started, scheduled_at: due } = run;
  if (started !== null) return <Instant at={started} />;
  if (endedBeforeDue(run)) return <span className="muted">never</span>;
  return (
    <span className="muted">
      due <Instant at={due} />
    </span>
  );
}

function Delay({ run }: { run: ShortRun }) {
  const now = useNow();
  const ms = run.start_delay_ms ?? overdueMs(run, now);
  if (ms === null) return <span className="muted">–</span>;
  if (ms <= LATE_MS) return duration(ms);
  return (
    <Text span inherit fw={600} title={run.started_at === null ? 'has not started yet' : 'later than 2 s'}>
      <VisuallyHidden>late: </VisuallyHidden>
      <StateIcon state="LATE" size={12} /> {duration(ms)}
    </Text>
  );
}

/** Of a run that waits for its first start, as its schedule has it; null: of any other. */
function overdueMs({ status, attempt_number: attempt, trigger, scheduled_at: due }: ShortRun, now: number) {
  return waits(status) && attempt === 1 && trigger === 'schedule' ? Math.max(0, now - Date.parse(due)) : null;
}

/** `1+`, as the command line has it: attempt 1 again. */
function AttemptNumber({ run }: { run: ShortRun }) {
  const { attempt_number: number } = run;
  if (!isAgain(run)) return number;
  const words = 'An attempt was lost or given back, and made again';
  return (
    <span title={words}>
      {number}
      <span aria-hidden="true">+</span>
      <VisuallyHidden>. {words}</VisuallyHidden>
    </span>
  );
}

/** What a person asked for did not start when the schedule says. */
const ASKED: Readonly<Record<ShortRun['trigger'], string | undefined>> = {
  schedule: undefined,
  manual: 'by hand',
  redrive: 'redriven',
};

function Why({ run }: { run: ShortRun }) {
  const asked = ASKED[run.trigger];
  if (asked === undefined) return <Words run={run} />;
  return (
    <>
      <Badge
        size="xs"
        variant="default"
        tt="none"
        fw={500}
        mr={6}
        title={run.request_reason ?? `Run ${asked}`}
      >
        {asked}
      </Badge>
      {wordsOf(run) !== null && <Words run={run} />}
    </>
  );
}

const wordsOf = ({ progress, ended_at: ended, error_message: error, reason }: ShortRun) =>
  progress !== null && ended === null ? progress : (error ?? reason);

function Words({ run }: { run: ShortRun }) {
  const words = wordsOf(run);
  if (words === null) return <span className="muted">–</span>;
  if (typeof words === 'string') return <span title={withHiddenNote(words)}>{words.split('\n', 1)[0]}</span>;
  const { percent: done, message } = words;
  return <span>{`${percent(done)}${message === null ? '' : ` · ${message}`}`}</span>;
}
