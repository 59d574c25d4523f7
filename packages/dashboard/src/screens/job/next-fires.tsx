/** The next fires of a job one by one: each can be skipped, and a skipped one brought back until it is due. */

import type { Job, SchedulePreview } from '@carillon/client';
import { Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Card, Loaded } from '../../ui/card.tsx';
import { notify } from '../../ui/notify.ts';
import { useNow } from '../../ui/now.ts';
import { useZone } from '../../ui/preferences.tsx';
import { duration } from '../../ui/time.ts';
import { fireWords } from './fire-words.ts';
import { HERD_MIN, othersText } from './others.ts';
import { firesTitle, zoneOfFires } from './zone-of-fires.ts';

const SHOWN = 5;

type Fire = SchedulePreview['fires'][number];

export function NextFires({ job }: { job: Job }) {
  const { job_id: jobId, version, next_run_at: next, status } = job;
  const own = useZone();
  const isRecurring = job.schedule_type === 'CRON' || job.schedule_type === 'INTERVAL';
  const fires = useQuery({
    // With every fire and every change there are others.
    queryKey: queryKeys.ofJob(jobId, 'fires', version, next),
    queryFn: ({ signal }) => carillon.schedules.preview({ job_id: jobId, count: SHOWN }, { signal }),
    enabled: isRecurring,
  });
  const isOver = status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
  if (!isRecurring || isOver || (next === null && job.skipped_fires.length === 0 && status !== 'PAUSED'))
    return null;
  return (
    <Card title={firesTitle(job, own)}>
      <Loaded of={fires} height={150}>
        {({ fires: found, others_at: others }) => (
          <Table verticalSpacing={3} horizontalSpacing={4} withRowBorders={false} aria-label="Next fires">
            <Table.Tbody>
              {found.map((fire) => (
                <FireRow
                  key={fire.at}
                  job={job}
                  fire={fire}
                  others={others.find(({ at, count }) => at === fire.at && count >= HERD_MIN)}
                />
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Loaded>
    </Card>
  );
}

interface FireRowProps {
  readonly job: Job;
  readonly fire: Fire;
  readonly others: SchedulePreview['others_at'][number] | undefined;
}

function FireRow({ job, fire, others }: FireRowProps) {
  const own = useZone();
  const now = useNow();
  const zone = zoneOfFires(job, own);
  const { at, skipped_by: by } = fire;
  const date = new Date(at);
  const when = fireWords(date, zone);
  return (
    <Table.Tr>
      <Table.Td w="1%" pr="lg" className="nowrap">
        {by === null ? when : <s>{when}</s>}
      </Table.Td>
      <Table.Td>
        {by === null ? (
          <Text size="sm" c="dimmed" component="div">
            <span className="nowrap">{inWords(date.getTime() - now)}</span>
            {others && ` · ${othersText(others)}`}
          </Text>
        ) : (
          <Text size="sm" className="wrap-anywhere">
            skipped by {by}
          </Text>
        )}
      </Table.Td>
      <Table.Td w={90} ta="right">
        {(by !== null || job.status !== 'PAUSED') && <SkipButton job={job} fire={fire} when={when} />}
      </Table.Td>
    </Table.Tr>
  );
}

/** Fractions of a second say nothing about what lies ahead. */
function inWords(ms: number): string {
  if (ms < 1_000) return 'now';
  return `in ${duration(Math.floor(ms / 1_000) * 1_000).replace(/\.\d+ s$/, ' s')}`;
}

function SkipButton({ job, fire: { at, skipped_by: by }, when }: { job: Job; fire: Fire; when: string }) {
  const { job_id: jobId, name, namespace, user_id: userId } = job;
  const queries = useQueryClient();
  const reread = () => queries.invalidateQueries({ queryKey: queryKeys.all('jobs') });
  const skip = async () => {
    await carillon.jobs.skip(jobId, at);
    await reread();
  };
  const unskip = async () => {
    await carillon.jobs.unskip(jobId, at);
    await reread();
  };
  const about = { action: 'jobs.pause', size: 'compact-xs', namespace, userId } as const;
  if (by !== null)
    return (
      <ActionButton
        key="undo"
        label="Undo"
        {...about}
        run={async () => {
          await unskip();
          return `${when} runs again.`;
        }}
      />
    );
  return (
    <ActionButton
      key="skip"
      label="Skip"
      {...about}
      confirm={{
        title: `Skip ${when}?`,
        effect: `${name} does not run then, and nothing makes up for it. The schedule goes on after it. The history says that you skipped it. You can undo this until then.`,
        confirmLabel: 'Skip this fire',
      }}
      run={async () => {
        await skip();
        notify({ message: `${when} is skipped.`, undo: unskip });
        return undefined;
      }}
    />
  );
}
