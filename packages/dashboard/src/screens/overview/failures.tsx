/** Failures that are alike, the most frequent first: one click to the runs, one to a sample. */
import type { FailureGroup } from '@carillon/client';
import { Group, Stack, Text } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { HiddenNote } from '../../ui/hidden-note.tsx';
import { Instant } from '../../ui/instant.tsx';
import { StateIcon } from '../../ui/state-badge.tsx';
import { count } from '../../ui/time.ts';
import { useNamespaces } from '../jobs/use-names.ts';
import classes from './failures.module.css';
import { HandledSince, useHandledLetters } from './handled-since.tsx';

const RANGE_WORDS: Readonly<Record<string, string>> = {
  '1h': 'hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
};

/** A length up to now, or from one instant to another. */
export interface Span {
  readonly from: string;
  readonly to?: string;
}

export function Failures({ groups, span }: { groups: readonly FailureGroup[]; span: Span }) {
  const { ns } = useSearch({ strict: false });
  const handled = useHandledLetters(ns);
  const several = useNamespaces().length > 1 && ns === undefined;
  if (groups.length === 0)
    return (
      <Group gap="xs">
        <StateIcon state="SUCCESS" />
        <Text size="sm">
          Nothing failed in {span.to === undefined ? `the last ${RANGE_WORDS[span.from]}` : 'this time'}.
        </Text>
      </Group>
    );
  return (
    <>
      <Stack gap={0} component="ul" className={classes.groups}>
        {groups.map((group) => (
          <li key={`${group.fingerprint} ${group.namespace}`} className={classes.group}>
            <span className={classes.count}>{count(group.count)}×</span>
            <div className={classes.words}>
              <Link to="/runs/$runId" params={{ runId: group.sample_run_id }} className={classes.message}>
                {group.message}
              </Link>
              <Text size="xs" c="dimmed" component="div" className={classes.about}>
                {group.handler ?? 'several handlers'} ·{' '}
                <Link to="/jobs/$jobId" params={{ jobId: group.sample_job_id }}>
                  {group.sample_job_name ?? 'a deleted job'}
                </Link>
                {group.jobs > 1 ? ` and ${group.jobs - 1} more` : ''}
                {several ? ` in ${group.namespace}` : ''} · last <Instant at={group.last_at} />
                {handled.has(group.sample_run_id) && (
                  <HandledSince letter={handled.get(group.sample_run_id)!} isOnly={group.count === 1} />
                )}
              </Text>
            </div>
            <Link
              to="/runs"
              search={{
                // The job tells its namespace: the one that is chosen need not change.
                ns: ns ?? (group.jobs === 1 ? undefined : group.namespace),
                ...{ status: 'FAILED,TIMED_OUT', since: span.from, until: span.to, attempts: 'all' },
                ...(group.handler !== null && { handler: group.handler, failure: group.fingerprint }),
                ...(group.jobs === 1 && { job: group.sample_job_id }),
              }}
              className="nowrap"
            >
              all runs
            </Link>
          </li>
        ))}
      </Stack>
      <Text size="xs" c="dimmed">
        Counted are attempts: a run that was tried again counts each time that it failed.
      </Text>
      <HiddenNote text={groups.find(({ message }) => message.includes('[hidden]'))?.message} />
    </>
  );
}
