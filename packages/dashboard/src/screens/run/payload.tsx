/** What a run was given: the payload of its job in the version that it ran, as far as the audit log still knows it. */

import type { Job, RunWithAttempts } from '@carillon/client';
import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { JsonText } from '../../ui/json-text.tsx';
import { payloadOfVersion } from './payload-of-version.ts';
import { readVersions } from './versions-of-run.ts';

export function Payload({ run, job }: { run: RunWithAttempts; job: Job | undefined }) {
  const allowed = may(useCaller(), 'payloads.read', { namespace: job?.namespace, userId: job?.user_id });
  if (!allowed)
    return (
      <Text size="sm" c="dimmed">
        Payloads are not shown to you: that needs the role operator.
      </Text>
    );
  return (
    <Stack>
      {run.input !== null && (
        <Card title="Input of this run, merged over the payload">
          <JsonText value={run.input} label="Input" />
        </Card>
      )}
      {job === undefined ? (
        <Text size="sm">The job was deleted, and its payload with it.</Text>
      ) : job.version === run.job_version ? (
        <Card title="Payload of the job">
          <JsonText value={job.payload ?? {}} label="Payload" />
        </Card>
      ) : (
        <EarlierPayload run={run} job={job} />
      )}
    </Stack>
  );
}

function EarlierPayload({ run, job }: { run: RunWithAttempts; job: Job }) {
  const { job_id: jobId, version } = job;
  const versions = useQuery({
    queryKey: queryKeys.ofJob(jobId, 'versions', 'of a run', version),
    queryFn: () => readVersions(jobId),
  });
  return (
    <Loaded of={versions}>
      {(found) => {
        const then = payloadOfVersion(job, found, run.job_version);
        return (
          <Stack>
            <Text size="sm" className="prose">
              The job was edited since: this run had version {run.job_version}, it is at version {version}{' '}
              now.{' '}
              <Link to="/jobs/$jobId" params={{ jobId }} search={{ tab: 'versions' }}>
                See what changed
              </Link>
              .
            </Text>
            <Card
              title={
                then === undefined
                  ? 'Payload of the job as it is now'
                  : `Payload of the job in version ${run.job_version}`
              }
            >
              <JsonText value={then === undefined ? (job.payload ?? {}) : then} label="Payload" />
            </Card>
          </Stack>
        );
      }}
    </Loaded>
  );
}
