/** Addresses that lead nowhere, or not for everybody. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/empty.tsx';

/** An address that somebody else may open. */
export function NotAllowed({ why }: { why: string | undefined }) {
  return <Empty title="This page is not for you">{why}. Ask an administrator for it.</Empty>;
}

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <Button component={Link} to="/" variant="default" mt="sm">
        To the overview
      </Button>
    </Empty>
  );
}
