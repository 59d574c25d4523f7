/** The first page of a new installation: how to make a job, here and from a terminal. */
import { Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon, setCsrfToken } from '../../api/carillon.ts';
import { may, sessionQuery, useCaller } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { useFirstCommand } from '../../ui/first-command.ts';
import { InviteForm } from '../settings/users-part.tsx';

export function FirstSteps() {
  const caller = useCaller();
  const command = useFirstCommand();
  return (
    <Stack maw={720}>
      <Title order={1} size="h3">
        Welcome to Carillon
      </Title>
      <Text>
        There is no job yet. A job is an HTTP call, a script or work for a worker of yours, and a time: now,
        at an instant, or again and again.
      </Text>
      <AccountOffer />
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

/** Somebody with the admin key alone: their session is short, and what they do is told of nobody. */
export function AccountOffer() {
  const caller = useCaller();
  const queries = useQueryClient();
  if (caller?.user_id !== null) return null;
  const signInAs = async (credentials: { name: string; password: string }) => {
    const { csrf_token: token } = await carillon.session.open(credentials);
    setCsrfToken(token);
    await queries.fetchQuery({ ...sessionQuery, staleTime: 0 });
    return `You are signed in as ${credentials.name} now.`;
  };
  return (
    <Card
      title="Make an account for yourself"
      actions={<InviteForm label="Make an account" firstRole="admin" onMade={signInAs} />}
    >
      <Text size="sm">
        You are signed in with the admin key, for a few hours. With an account you sign in with a name and a
        password, and the audit log names you.
      </Text>
    </Card>
  );
}
