/** Makes a new job, also as a copy of another (`from`), and edits one that is there. */
import type { Job } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { NotAllowed, NotThere } from '../../shell/not-found.tsx';
import { Loaded } from '../../ui/card.tsx';
import { bodyOfCopy, bodyOfJob } from './job-body.ts';
import { JobEditor } from './job-editor.tsx';

const newRoute = getRouteApi('/shell/jobs/new');
const editRoute = getRouteApi('/shell/jobs/$jobId/edit');

export function NewJobScreen() {
  const { from, ns } = newRoute.useSearch();
  const { allowed, why } = usePermission('jobs.create');
  if (!allowed) return <NotAllowed why={why} />;
  return from === undefined ? <EmptyJob namespace={ns} /> : <CopiedJob from={from} key={from} />;
}

function EmptyJob({ namespace }: { namespace: string | undefined }) {
  const initial = {
    ...{ name: '', handler: 'http', payload: {} },
    ...(namespace !== undefined && { namespace }),
  };
  return <JobEditor draftId="new" title="New job" initial={initial} />;
}

function CopiedJob({ from }: { from: string }) {
  return (
    <Loaded of={useJobOnce(from)} height={400} screen="New job">
      {(job) => <JobEditor draftId={`copy-of-${from}`} title="New job" initial={bodyOfCopy(job)} />}
    </Loaded>
  );
}

export function EditJobScreen() {
  const { jobId } = editRoute.useParams();
  return (
    <Loaded
      of={useJobOnce(jobId)}
      height={400}
      screen="Edit a job"
      missing={<NotThere noun="job" id={jobId} />}
    >
      {(job) => <EditedJob key={jobId} job={job} />}
    </Loaded>
  );
}

function EditedJob({ job }: { job: Job }) {
  const { allowed, why } = usePermission('jobs.update', { namespace: job.namespace, userId: job.user_id });
  if (!allowed) return <NotAllowed why={why} />;
  return <JobEditor draftId={job.job_id} title={`Edit ${job.name}`} initial={bodyOfJob(job)} job={job} />;
}

/** Read when the editing begins: what changes meanwhile must not move under the hands of who types. */
function useJobOnce(jobId: string) {
  return useQuery({
    queryKey: queryKeys.jobToEdit(jobId),
    queryFn: ({ signal }) => carillon.jobs.get(jobId, { signal }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    placeholderData: undefined,
  });
}
