/** Addresses that lead nowhere, or not for everybody. */
import { Button, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Action, usePermission } from '../api/session.ts';
import { Empty } from '../ui/empty.tsx';
import { LinkButton } from '../ui/link-button.tsx';

/** An address that somebody else may open. */
export function NotAllowed({ why }: { why: string | undefined }) {
  return (
    <Empty order={1} title="This page is not for you">
      {why}. Ask an administrator for it.
    </Empty>
  );
}

/** A screen for those who may read what it shows: nothing is asked for on behalf of others. */
export function Guarded({ action, children }: { action: Action; children: ReactNode }) {
  const { allowed, why } = usePermission(action);
  return allowed ? children : <NotAllowed why={why} />;
}

const LISTS = { job: '/jobs', run: '/runs', worker: '/workers' } as const;
const IS_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An address of one of many that is not there: never was, or not any more. */
export function NotThere({ noun, id }: { noun: keyof typeof LISTS; id: string }) {
  const isName = noun === 'job' && !IS_ID.test(id);
  return (
    <Empty order={1} title={`There is no such ${noun}`}>
      {noun === 'worker' || IS_ID.test(id)
        ? 'It may have been removed, or it is not for you to see.'
        : `${id} is not the id of a ${noun}.`}
      <Group gap="sm" mt="sm" justify="center">
        {isName && (
          <LinkButton label="Search jobs by this name" to="/jobs" search={{ text: id }} variant="default" />
        )}
        <LinkButton label={`All ${noun}s`} to={LISTS[noun]} variant="default" />
      </Group>
    </Empty>
  );
}

export function NotFound() {
  return (
    <Empty order={1} title="There is no such page">
      <Button component={Link} to="/" variant="default" mt="sm">
        To the overview
      </Button>
    </Empty>
  );
}
