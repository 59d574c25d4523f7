/** Asked before an earlier version of a job is brought back: what will be different, and what versions do not keep. */
import type { Job, Json } from '@carillon/client';
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Loaded } from '../../ui/card.tsx';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';
import { ChangesTable } from '../edit-job/changes-table.tsx';
import { changesOf } from '../edit-job/job-body.ts';

interface RestoreDialogProps {
  readonly job: Job;
  readonly version: number;
  readonly onClose: () => void;
}

export function RestoreDialog({ job, version, onClose }: RestoreDialogProps) {
  const { job_id: jobId, name } = job;
  const queries = useQueryClient();
  const preview = useQuery({
    queryKey: queryKeys.ofJob(jobId, 'versions', version, 'restore', job.version),
    queryFn: ({ signal }) => carillon.jobs.restore(jobId, version, { dryRun: true, signal }),
    retry: false,
  });
  const restore = useMutation({
    // What was shown is what is changed: a job that somebody else changed meanwhile is left alone.
    mutationFn: () => carillon.jobs.restore(jobId, version, { ifVersion: preview.data!.version - 1 }),
    onSuccess: async ({ version: made }) => {
      notify({ message: `${name} is as in version ${version} again. This is version ${made}.` });
      onClose();
      await queries.invalidateQueries({ queryKey: queryKeys.all('jobs') });
    },
    onError: () => void preview.refetch(),
  });
  const changes = preview.data?.changes ?? [];
  const isSame = preview.data?.outcome === 'unchanged';
  return (
    <Modal opened onClose={onClose} title={`Restore version ${version}?`} size="lg" centered>
      <Stack gap="md">
        <Text size="sm">
          The job becomes what it was in version {version}, as a new version. Whether it is paused stays as it
          is.
        </Text>
        <Loaded of={preview} height={120}>
          {({ not_recorded: missing }) => (
            <>
              {isSame ? (
                <Text size="sm">The job is exactly as it was then.</Text>
              ) : (
                <ChangesTable
                  label="What restoring changes"
                  isDifference
                  columns={['Now', `Version ${version}`]}
                  rows={rowsOf(changes)}
                />
              )}
              {missing.length > 0 && (
                <Alert variant="default" role="note" title="Credentials are not kept with versions">
                  What the job has now stays, or is left out where it has none: {missing.join(', ')}
                </Alert>
              )}
              {changes.some(({ field }) => field.startsWith('schedule_')) && runsAtOnce(preview.data!) && (
                <Alert variant="default" role="note" title="It runs at once">
                  Its time in that version has passed.
                </Alert>
              )}
            </>
          )}
        </Loaded>
        {restore.error && <Problem error={restore.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Back
          </Button>
          <Button
            loading={restore.isPending}
            disabled={preview.data === undefined || isSame}
            onClick={() => !restore.isPending && restore.mutate()}
            data-autofocus
          >
            Restore this version
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** By the deepest names, as the dialog before a save shows them. */
function rowsOf(changes: readonly { field: string; before?: unknown; after?: unknown }[]) {
  const side = (of: 'before' | 'after') =>
    Object.fromEntries(
      changes.map((change) => [change.field, (change[of] ?? undefined) as Json | undefined]),
    );
  return changesOf(side('before'), side('after')).map(({ field, before, after }) => ({
    ...{ field, values: [before, after] },
  }));
}

function runsAtOnce({
  schedule_type: type,
  schedule_time: at,
}: Pick<Job, 'schedule_type' | 'schedule_time'>) {
  return type === 'IMMEDIATE' || (type === 'FUTURE' && at !== null && Date.parse(at) <= Date.now());
}
