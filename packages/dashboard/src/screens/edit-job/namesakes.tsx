/** Several jobs may have one name: who gives a job the name of another is told so, for it may be that very job which they meant. */
import type { ListedJob } from '@carillon/client';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useForm } from './form-context.tsx';
import type { Body } from './job-body.ts';

const TYPED_MS = 250;

/** What is said below the name; undefined: no other job has it. */
export function useNamesakeNote(): ReactNode {
  const { body, isEdit, jobId } = useForm();
  const { name, namespace } = body;
  const [wanted] = useDebouncedValue(JSON.stringify({ name, namespace }), TYPED_MS);
  const { data } = useQuery({
    queryKey: queryKeys.namesakes(wanted, jobId),
    queryFn: ({ signal }) => namesakesOf(JSON.parse(wanted) as Body, { except: jobId, signal }),
    staleTime: 0,
    retry: false,
    placeholderData: undefined,
  });
  const found = data?.[0];
  // What is typed on is another name.
  if (found === undefined || found.name !== name) return undefined;
  return (
    <span role="status">
      There is {isEdit ? 'another job' : 'a job'} of this name already:{' '}
      <Link to="/jobs/$jobId" params={{ jobId: found.job_id }}>
        {found.name}
      </Link>
      .{isEdit ? '' : ' A second one is made.'}
    </span>
  );
}

/** One other job of exactly this name in its namespace, or none. */
export async function namesakesOf(
  { name, namespace }: Body,
  { except, signal }: { except: string | undefined; signal?: AbortSignal },
): Promise<readonly ListedJob[]> {
  if (typeof name !== 'string' || name === '') return [];
  const where = typeof namespace === 'string' && namespace !== '' ? namespace : 'default';
  const { items } = await carillon.jobs
    .list({ name, namespace: where, limit: 2 }, signal ? { signal } : {})
    .page();
  return items.filter(({ job_id: id }) => id !== except).slice(0, 1);
}
