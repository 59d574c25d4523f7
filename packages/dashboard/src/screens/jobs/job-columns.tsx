/** The columns of the list of jobs. */
import type { ListedJob } from '@carillon/client';
import { Badge, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Instant } from '../../ui/instant.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { type State, StateBadge, StateIcon, stateWord } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/virtual-list.tsx';
import classes from './jobs.module.css';
import { OutcomeStrip } from './outcome-strip.tsx';
import { scheduleWords } from './schedule-words.ts';

const LABELS_SHOWN_MAX = 3;
/** Of an id whose name may not be read. */
const ID_SHOWN_MAX = 8;

export function jobColumns({ withNamespace }: { withNamespace: boolean }): readonly Column<ListedJob>[] {
  return [
    {
      key: 'status',
      title: 'State',
      width: '94px',
      from: 'sm',
      cell: (job) => <StateBadge state={stateOf(job)} title={job.waiting_reason ?? undefined} />,
    },
    {
      key: 'name',
      title: 'Name',
      width: 'minmax(160px, 1fr)',
      cell: (job) => <Name job={job} withNamespace={withNamespace} />,
    },
    {
      key: 'schedule',
      title: 'Schedule',
      // With a zone, such as "every weekday at 09:00 (Europe/Paris)".
      width: 'minmax(160px, 248px)',
      from: 'md',
      below: true,
      cell: (job) => <Words job={job} />,
    },
    {
      key: 'next',
      title: 'Next',
      width: '112px',
      cell: (job) =>
        job.status === 'PAUSED' ? (
          <span className="muted">paused</span>
        ) : job.next_run_at === null && job.waiting_reason ? (
          <span title={job.waiting_reason}>{job.waiting_reason}</span>
        ) : (
          <Instant at={job.next_run_at} />
        ),
    },
    { key: 'last', title: 'Last run', width: '112px', from: 'sm', cell: (job) => <LastRun job={job} /> },
    {
      key: 'strip',
      title: 'Last 20 runs',
      width: '84px',
      from: 'md',
      cell: ({ job_id: jobId }) => <OutcomeStrip jobId={jobId} />,
    },
    { key: 'handler', title: 'Handler', width: '76px', from: 'lg', cell: ({ handler }) => handler },
    {
      key: 'owner',
      title: 'Owner',
      width: '66px',
      from: 'md',
      cell: (job) => <Owner job={job} />,
    },
  ];
}

/** A job of which a run waits does not look as if nothing were due. */
function stateOf({ status, waiting_runs: waiting = 0, waiting_reason: reason }: ListedJob): State {
  if (status !== 'SCHEDULED' || waiting === 0) return status;
  return reason?.startsWith('waits until') ? 'RETRYING' : 'WAITING';
}

function Name({ job, withNamespace }: { job: ListedJob; withNamespace: boolean }) {
  const labels = Object.entries(job.labels);
  return (
    <span className={classes.name}>
      {/* Where there is no room for a column of states. */}
      <span className={classes.icon} title={job.waiting_reason ?? stateWord(stateOf(job))}>
        <StateIcon state={stateOf(job)} />
        <VisuallyHidden>{stateWord(stateOf(job))}</VisuallyHidden>
      </span>
      <Link to="/jobs/$jobId" params={{ jobId: job.job_id }} className="ellipsis" title={job.name}>
        {job.name}
      </Link>
      {withNamespace && <span className={classes.namespace}>{job.namespace}</span>}
      <span className={classes.labels} title={labels.map(([name, value]) => `${name}:${value}`).join('\n')}>
        {labels.slice(0, LABELS_SHOWN_MAX).map(([name, value]) => (
          <Badge key={name} size="xs" variant="default" tt="none" fw={500}>
            {name}:{value}
          </Badge>
        ))}
      </span>
    </span>
  );
}

function Words({ job }: { job: ListedJob }) {
  const words = scheduleWords(job, useZone());
  return <span title={job.cron_expression ?? words}>{words}</span>;
}

function LastRun({ job: { last_run: run } }: { job: ListedJob }) {
  if (!run) return <span className="muted">never</span>;
  return (
    <span className={classes.last}>
      <Link
        to="/runs/$runId"
        params={{ runId: run.run_id }}
        aria-label={`Last run: ${stateWord(run.status)}`}
        title={stateWord(run.status)}
      >
        <StateIcon state={run.status} />
      </Link>
      <Instant at={run.ended_at ?? run.started_at ?? run.scheduled_at} />
    </span>
  );
}

export function Owner({ job }: { job: Pick<ListedJob, 'user_id' | 'user_name'> }) {
  const { user_id: userId, user_name: name } = job;
  if (userId === null) return <span className="muted">–</span>;
  if (name != null) return <span title={userId}>{name}</span>;
  return (
    <span className="mono" title={userId}>
      {userId.slice(0, ID_SHOWN_MAX)}
    </span>
  );
}
