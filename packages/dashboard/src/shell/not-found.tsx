/** An address that leads nowhere. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/empty.tsx';

export function NotFound() {
  return (
    <Empty title="There is no such page">
      <Button component={Link} to="/" variant="default" mt="sm">
        To the overview
      </Button>
    </Empty>
  );
}
