/** Why a run has not started: what it waits for, who holds that, its place in the line, when it is likely to start, and what helps. */

import type { RunWithAttempts, Why } from '@carillon/client';
import { List, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Advice } from '../../ui/advice.tsx';
import { Card, Loaded } from '../../ui/card.tsx';
import { Instant } from '../../ui/instant.tsx';
import { count } from '../../ui/time.ts';
import { WithCode } from '../../ui/with-code.tsx';
import { WorkerLink } from '../../ui/worker-link.tsx';

/** The server counts no further. */
const POSITION_MAX = 1_001;

export function WhyCard({ run, namespace }: { run: RunWithAttempts; namespace: string | undefined }) {
  const why = useQuery({
    queryKey: queryKeys.whyRun(run.run_id),
    queryFn: ({ signal }) => carillon.runs.why(run.run_id, { signal }),
    refetchInterval: useRefreshMs(POLLING.whyRunMs),
  });
  // It has started since it was asked: the rest of the page says so in a moment.
  if (why.data && !WAITS.has(why.data.state)) return null;
  return (
    <Card title="Why it has not started">
      <Loaded of={why} height={60}>
        {(found) => <Reasons why={found} jobId={run.job_id} namespace={namespace} />}
      </Loaded>
    </Card>
  );
}

const WAITS: ReadonlySet<Why['state']> = new Set(['scheduled', 'waiting', 'paused']);

function Reasons({ why, jobId, namespace }: { why: Why; jobId: string; namespace: string | undefined }) {
  const { reasons, position, estimated_start_at: estimated } = why;
  return (
    <Stack gap="sm">
      {reasons.map((reason) => (
        <Stack key={reason.code} gap={4}>
          <Text size="sm" className="wrap-anywhere">
            <WithCode text={reason.text} />
          </Text>
          {reason.held_by.length > 0 && <Holders holders={reason.held_by} jobId={jobId} />}
          {(reason.since_at !== null || reason.until_at !== null) && (
            <Text size="xs" c="dimmed" component="div">
              {reason.since_at !== null && (
                <>
                  Since <Instant at={reason.since_at} />.{' '}
                </>
              )}
              {reason.until_at !== null && (
                <>
                  Ends by itself: <Instant at={reason.until_at} />.
                </>
              )}
            </Text>
          )}
          <Advice reason={reason} jobId={jobId} namespace={namespace} />
        </Stack>
      ))}
      {(position !== null || estimated !== null) && (
        <Text size="sm" component="div">
          {position !== null && `Place in the line: ${placeWords(position)}. `}
          {estimated !== null && (
            <>
              Likely to start: <Instant at={estimated} />.
            </>
          )}
        </Text>
      )}
    </Stack>
  );
}

function placeWords(position: number): string {
  return position >= POSITION_MAX ? `after ${count(POSITION_MAX - 1)} others` : count(position);
}

function Holders({ holders, jobId }: { holders: Why['reasons'][number]['held_by']; jobId: string }) {
  return (
    <List size="sm" aria-label="Runs that hold it">
      {holders.map((holder) => (
        <List.Item key={holder.run_id}>
          <Link to="/runs/$runId" params={{ runId: holder.run_id }}>
            run <span className="mono">{holder.run_id.slice(-12)}</span>
          </Link>
          {holder.job_id !== jobId && (
            <>
              {' of '}
              <Link to="/jobs/$jobId" params={{ jobId: holder.job_id }}>
                another job
              </Link>
            </>
          )}
          {holder.worker_id === null ? (
            ' · not handed to a worker yet'
          ) : (
            <>
              {' on '}
              worker <WorkerLink workerId={holder.worker_id} />
            </>
          )}
        </List.Item>
      ))}
    </List>
  );
}
