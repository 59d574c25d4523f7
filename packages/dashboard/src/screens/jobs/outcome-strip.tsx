/** The last twenty runs of a job in a row of the list: newest on the right, failures below the line. */

import type { RunStatus } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { hasFailed } from '../../ui/run-state.ts';
import { stateWord } from '../../ui/state-badge.tsx';
import classes from './jobs.module.css';
import { createStripLoader } from './strip-loader.ts';

const RUNS_MAX = 20;
const STEP_PX = 4;
const BAR_PX = 3;
const HEIGHT_PX = 20;
const LINE_PX = 12;

const load = createStripLoader((ids) => carillon.jobs.strips(ids, { runs: RUNS_MAX }));

export function OutcomeStrip({ jobId }: { jobId: string }) {
  const { data: runs = [] } = useQuery({
    queryKey: queryKeys.jobs('strip', jobId),
    queryFn: () => load(jobId),
    placeholderData: undefined,
  });
  if (runs.length === 0) return <span className="muted">–</span>;
  const failed = runs.filter(({ status }) => hasFailed(status)).length;
  const label = `Of the last ${runs.length} runs ${failed} failed; the latest ${stateWord(runs[0]!.status)}`;
  return (
    <svg
      width={RUNS_MAX * STEP_PX}
      height={HEIGHT_PX}
      role="img"
      aria-label={label}
      className={classes.strip}
    >
      <title>{label}</title>
      {runs.map(({ run_id: id, status }, i) => {
        const isBelow = hasFailed(status);
        return (
          <rect
            key={id}
            x={(RUNS_MAX - 1 - i) * STEP_PX}
            y={isBelow ? LINE_PX : 2}
            width={BAR_PX}
            height={isBelow ? HEIGHT_PX - LINE_PX - 1 : LINE_PX - 3}
            rx={1}
            data-tone={toneOf(status)}
          />
        );
      })}
    </svg>
  );
}

function toneOf(status: RunStatus): string {
  if (hasFailed(status)) return 'failed';
  if (status === 'SUCCESS') return 'good';
  return status === 'RUNNING' || status === 'CLAIMED' ? 'running' : 'other';
}
