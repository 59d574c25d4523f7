/** Addresses that lead nowhere, or not for everybody. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Action, usePermission } from '../api/session.ts';
import { Empty } from '../ui/empty.tsx';

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

export function NotFound() {
  return (
    <Empty order={1} title="There is no such page">
      <Button component={Link} to="/" variant="default" mt="sm">
        To the overview
      </Button>
    </Empty>
  );
}
