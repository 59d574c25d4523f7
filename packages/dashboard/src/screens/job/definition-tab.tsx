/** Everything that a job was given, and the same as a command. */
import type { Job } from '@carillon/client';
import { Code, SimpleGrid, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Instant } from '../../ui/instant.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { duration } from '../../ui/time.ts';
import { CopyAs } from '../edit-job/copy-as.tsx';
import { bodyOfJob } from '../edit-job/job-body.ts';
import { Owner } from '../jobs/job-columns.tsx';
import { scheduleWords } from '../jobs/schedule-words.ts';

export function DefinitionTab({ job }: { job: Job }) {
  const zone = useZone();
  const payload = JSON.stringify(job.payload, null, 2);
  const { script, ...rest } = job.payload;
  const isScript = job.handler === 'script' && typeof script === 'string';
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Card title="Fields">
        <Table variant="vertical" layout="fixed" withRowBorders={false} verticalSpacing={4}>
          <Table.Tbody>
            <Rows job={job} zone={zone} />
          </Table.Tbody>
        </Table>
      </Card>
      <div>
        <Card title="Payload" actions={<CopyButton text={payload} label="Copy the payload" />}>
          {isScript && (
            <Code block tabIndex={0} mah={420} aria-label="Script">
              {script}
            </Code>
          )}
          <Code block tabIndex={0} mah={420} aria-label="Payload">
            {isScript ? JSON.stringify(rest, null, 2) : payload}
          </Code>
          {payload.includes('"[hidden]"') && (
            <Text size="sm" c="dimmed">
              Values are hidden: seeing them needs the role operator.
            </Text>
          )}
        </Card>
        <div style={{ marginTop: 16 }}>
          <CopyAs body={bodyOfJob(job)} title="Make the same job elsewhere" />
        </div>
      </div>
    </SimpleGrid>
  );
}

function Rows({ job, zone }: { job: Job; zone: string }) {
  const { retry, misfire, daylight_saving: saving } = job;
  const missed =
    misfire.policy === 'all'
      ? `${MISFIRE.all} (up to ${misfire.max_runs} within ${seconds(misfire.window_seconds)})`
      : MISFIRE[misfire.policy];
  return (
    <>
      <Row name="Id">
        <span className="mono">{job.job_id}</span>
      </Row>
      <Row name="Name">{job.name}</Row>
      <Row name="Key">{job.key}</Row>
      <Row name="Namespace">{job.namespace}</Row>
      <Row name="Owner">{job.user_id && <Owner job={job} />}</Row>
      <Row name="Version">{String(job.version)}</Row>
      <Row name="Handler">{job.handler}</Row>
      <Row name="Schedule">{scheduleWords(job, zone)}</Row>
      <Row name="Cron">{job.cron_expression && <span className="mono">{job.cron_expression}</span>}</Row>
      <Row name="Interval">{job.interval}</Row>
      <Row name="Counted from">
        {job.schedule_type === 'INTERVAL' && <Instant at={job.schedule_time} kind="absolute" />}
      </Row>
      <Row name="Time zone">{job.time_zone}</Row>
      <Row name="Not before">{job.start_at && <Instant at={job.start_at} kind="absolute" />}</Row>
      <Row name="Not after">{job.end_at && <Instant at={job.end_at} kind="absolute" />}</Row>
      <Row name="Spread">{job.spread_seconds ? seconds(job.spread_seconds) : null}</Row>
      <Row name="Local times that do not exist">{saving && GAP[saving.gap]}</Row>
      <Row name="Local times that exist twice">{saving && TWICE[saving.overlap]}</Row>
      <Row name="Missed runs">{missed}</Row>
      <Row name="Priority">{job.priority}</Row>
      <Row name="Retries">{retriesOf(job)}</Row>
      <Row name="Give up after">{retry.deadline_seconds && seconds(retry.deadline_seconds)}</Row>
      <Row name="Time limit">{seconds(job.timeout_seconds)}</Row>
      <Row name="Start limit">{job.start_timeout_seconds && seconds(job.start_timeout_seconds)}</Row>
      <Row name="At the same time">
        {`${job.max_concurrency} ${job.max_concurrency === 1 ? 'run' : 'runs'}; others ${OVERLAP[job.overlap]}`}
      </Row>
      <Row name="Labels">{pairs(job.labels)}</Row>
      <Row name="Resources">{pairs(job.resources)}</Row>
      <Row name="Made">
        <Instant at={job.created_at} kind="absolute" />
      </Row>
      <Row name="Changed">
        <Instant at={job.updated_at} kind="absolute" />
      </Row>
    </>
  );
}

/** Left out where there is nothing to tell. */
function Row({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false || children === '') return null;
  return (
    <Table.Tr>
      <Table.Th w={150} fw={500}>
        {name}
      </Table.Th>
      <Table.Td className="wrap-anywhere">{children}</Table.Td>
    </Table.Tr>
  );
}

const GAP = { skip: 'are skipped', run_after: 'run right after the gap' };
const TWICE = { first: 'the first one counts', second: 'the second one counts', both: 'both count' };
const MISFIRE = {
  none: 'are skipped',
  last: 'only the most recent one is made up for',
  all: 'are made up for',
};
const OVERLAP = { queue: 'wait', skip: 'are skipped', replace: 'replace the running one' };

function retriesOf({ max_retries: count, retry }: Job): string {
  if (count === 0 || retry.strategy === 'none') return 'none';
  const growth =
    retry.strategy === 'fixed'
      ? `${seconds(retry.delay_seconds)} apart`
      : `from ${seconds(retry.delay_seconds)} apart, doubling up to ${seconds(retry.max_delay_seconds)}`;
  return `${count}, ${growth}${retry.jitter ? ', varied' : ''}`;
}

function seconds(value: number): string {
  return duration(value * 1_000)
    .replace('.00 s', ' s')
    .replace('.0 s', ' s');
}

function pairs(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}
