/** The last runs of a job at a glance: how long each took, and which failed. People who cannot see it get the same as a table. */

import { Group, Text, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { stateWord } from '../../ui/state-badge.tsx';
import { absolute, duration } from '../../ui/time.ts';
import classes from './job.module.css';
import { type Bar, stripBars } from './strip-bars.ts';

const RUNS_MAX = 100;
const BAR_PX = 9;
const STEP_PX = 12;
const ABOVE_PX = 44;
const BELOW_PX = 28;
/** A very short run is still a bar. */
const HEIGHT_PX_MIN = 4;

export function RunStrip({ jobId }: { jobId: string }) {
  const zone = useZone();
  const runs = useQuery({
    queryKey: queryKeys.ofJob(jobId, 'runs', 'strip'),
    queryFn: async ({ signal }) =>
      (await carillon.runs.list({ job_id: jobId, attempts: 'last', limit: RUNS_MAX }, { signal }).page())
        .items,
    refetchInterval: useRefreshMs(),
  });
  return (
    <Card title="Last runs">
      <Loaded of={runs} height={ABOVE_PX + BELOW_PX}>
        {(found) => {
          const { bars, p95Ms } = stripBars(found, Date.now());
          if (bars.length === 0)
            return (
              <Text size="sm" c="dimmed">
                It has not run yet.
              </Text>
            );
          const failed = bars.filter(({ below }) => below).length;
          return (
            <>
              <div className={classes.strip}>
                <Bars bars={bars} zone={zone} />
              </div>
              <Group justify="space-between" gap="xs">
                <Text size="xs" c="dimmed">
                  {bars.length === 1 ? 'The only run' : `The last ${bars.length} runs, newest on the right`};{' '}
                  {failed} failed
                </Text>
                {p95Ms !== null && (
                  <Text size="xs" c="dimmed">
                    full height: {duration(p95Ms)} (p95)
                  </Text>
                )}
              </Group>
              <VisuallyHidden>
                <table>
                  <caption>Last runs, oldest first</caption>
                  <thead>
                    <tr>
                      <th>Due</th>
                      <th>State</th>
                      <th>Took</th>
                    </tr>
                  </thead>
                  <tbody>
                    {bars.map((bar) => (
                      <tr key={bar.runId}>
                        <td>{absolute(new Date(bar.scheduledAt), zone)}</td>
                        <td>{stateWord(bar.status)}</td>
                        <td>{bar.durationMs === null ? 'did not start' : duration(bar.durationMs)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </VisuallyHidden>
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

function Bars({ bars, zone }: { bars: readonly Bar[]; zone: string }) {
  return (
    <svg width={bars.length * STEP_PX} height={ABOVE_PX + BELOW_PX} aria-hidden="true">
      <line x1={0} x2={bars.length * STEP_PX} y1={ABOVE_PX} y2={ABOVE_PX} className={classes.axis} />
      {bars.map((bar, i) => {
        const height = Math.max(HEIGHT_PX_MIN, bar.height * (bar.below ? BELOW_PX : ABOVE_PX) - 1);
        return (
          <Link key={bar.runId} to="/runs/$runId" params={{ runId: bar.runId }} tabIndex={-1}>
            <title>{titleOf(bar, zone)}</title>
            <rect
              x={i * STEP_PX}
              y={0}
              width={STEP_PX}
              height={ABOVE_PX + BELOW_PX}
              className={classes.hit}
            />
            <rect
              x={i * STEP_PX + 1}
              y={bar.below ? ABOVE_PX + 1 : ABOVE_PX - 1 - height}
              width={BAR_PX}
              height={height}
              rx={1.5}
              className={classes.bar}
              data-tone={toneOf(bar)}
            />
          </Link>
        );
      })}
    </svg>
  );
}

function titleOf({ status, scheduledAt, durationMs, attempts, error }: Bar, zone: string): string {
  const took = durationMs === null ? 'did not start' : duration(durationMs);
  const tries = attempts > 1 ? `, ${attempts} attempts` : '';
  const why = error === null ? '' : `\n${error.split('\n', 1)[0]}`;
  return `${stateWord(status)}, ${took}${tries}\n${absolute(new Date(scheduledAt), zone)}${why}`;
}

function toneOf({ status, below }: Bar): string {
  if (below) return 'failed';
  if (status === 'SUCCESS') return 'good';
  return status === 'RUNNING' || status === 'CLAIMED' ? 'running' : 'other';
}
