/** What is different from the last run of the job that succeeded: what the job was, what it was given, who ran it and how long it took. */
import type { Job, JobVersion, Json, RunWithAttempts } from '@carillon/client';
import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Loaded } from '../../ui/card.tsx';
import { Instant } from '../../ui/instant.tsx';
import { duration } from '../../ui/time.ts';
import { useWorkerName } from '../../ui/worker-link.tsx';
import { ChangesTable } from '../edit-job/changes-table.tsx';
import { changesOf } from '../edit-job/job-body.ts';
import { recordedChanges } from '../job/recorded-fields.ts';
import { changesBetween } from './changes-between.ts';
import { readVersions } from './versions-of-run.ts';

interface SinceSuccessProps {
  readonly run: RunWithAttempts;
  readonly job: Job | undefined;
}

export function SinceSuccess({ run, job }: SinceSuccessProps) {
  const found = useQuery({
    queryKey: queryKeys.lastSuccess(run.run_id, run.epoch, job?.version),
    queryFn: () => readLastSuccess(run, job),
  });
  return (
    <Loaded of={found}>
      {(last) =>
        last === null ? (
          <Text size="sm">No earlier run of this job is known that succeeded.</Text>
        ) : (
          <Differences run={run} {...last} />
        )
      }
    </Loaded>
  );
}

interface DifferencesProps {
  readonly run: RunWithAttempts;
  readonly success: RunWithAttempts;
  readonly changes: JobVersion['changes'];
}

function Differences({ run, success, changes }: DifferencesProps) {
  const nameOf = useWorkerName();
  const facts = ({ job_version: version, input, worker_id: worker }: RunWithAttempts) => ({
    'version of the job': version,
    input: (input ?? 'none') as Json,
    worker: worker === null ? 'none' : (nameOf(worker) ?? worker),
  });
  const rows = [...changesOf(facts(success), facts(run)), ...recordedChanges(changes)];
  return (
    <Stack gap="sm">
      <Text size="sm" component="div" className="prose">
        The last run before it that succeeded is{' '}
        <Link to="/runs/$runId" params={{ runId: success.run_id }} className="mono">
          {success.run_id}
        </Link>
        , which started <Instant at={success.started_at} />.
        {rows.length === 0 && ' The definition of the job, the input and the worker are the same.'}
      </Text>
      <ChangesTable
        label="Differences from the last success"
        columns={['Last success', 'This run']}
        rows={[
          ...rows.map(({ field, before, after }) => ({ field, values: [before, after] })),
          { field: 'took', values: [success, run].map(tookWords) },
        ]}
      />
    </Stack>
  );
}

function tookWords({ started_at: from, ended_at: to }: RunWithAttempts): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from));
}

/** null: there is none, as far as one look goes. */
async function readLastSuccess(run: RunWithAttempts, job: Job | undefined) {
  const { job_id: jobId, created_at: until } = run;
  const { items } = await carillon.runs.list({ job_id: jobId, status: 'SUCCESS', until, limit: 1 }).page();
  if (!items[0]) return null;
  const success = await carillon.runs.get(items[0].run_id);
  const isEdited = success.job_version !== run.job_version;
  const versions = isEdited && job ? await readVersions(jobId) : [];
  return { success, changes: changesBetween(versions, success.job_version, run.job_version) };
}
