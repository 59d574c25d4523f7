/** The first page of a new installation: how to make a job, here and from a terminal. */
import { Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { BASE_URL } from '../../api/carillon.ts';
import { may, useCaller } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';

export function FirstSteps() {
  const caller = useCaller();
  const command = `npx carillon jobs create hello --http ${new URL('health/live', BASE_URL).href} --wait`;
  return (
    <Stack maw={720}>
      <Title order={1} size="h3">
        Welcome to Carillon
      </Title>
      <Text>
        There is no job yet. A job is an HTTP call, a script or work for a worker of yours, and a time: now,
        at an instant, or again and again.
      </Text>
      {may(caller, 'jobs.create') && (
        <Group>
          <Button component={Link} to="/jobs/new">
            Make the first job
          </Button>
        </Group>
      )}
      <Card title="Or from a terminal">
        <Code block className="wrap-anywhere">
          {command}
        </Code>
        <Group>
          <CopyButton text={command} label="Copy the command" />
        </Group>
      </Card>
    </Stack>
  );
}
