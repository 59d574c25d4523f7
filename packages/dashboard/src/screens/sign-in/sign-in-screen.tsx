/**
 * Signing in: with a name and a password, with the provider of the company, with the link that the server printed, or with its admin
 * key; afterwards the page that was asked for.
 */

import type { SignIn } from '@carillon/client';
import {
  Anchor,
  Button,
  Center,
  Divider,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { carillon, serverUrl, setCsrfToken } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { sessionQuery } from '../../api/session.ts';
import { Problem } from '../../ui/problem.tsx';
import { ticketOf } from './ticket.ts';

const route = getRouteApi('/login');

/** What the server says after a sign-in at the provider that did not work. */
const FAILURES: Readonly<Record<string, string>> = {
  expired: 'Signing in took too long. Try again.',
  refused: 'The provider did not sign you in. Try again, or ask who runs it.',
  no_access:
    'You are known to the provider, but none of your groups may use Carillon. Ask an administrator of Carillon.',
  rate_limited: 'Too many tries. Wait a minute and try again.',
  unavailable: 'The provider does not answer. Try again later.',
};

const DAMAGED_LINK = 'The link is not complete. Copy all of it, or sign in with a password or the admin key.';

export function SignInScreen() {
  const { next, error } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const methods = useQuery({
    queryKey: queryKeys.signInMethods(),
    queryFn: () => carillon.session.methods(),
  });
  const signIn = useMutation({
    mutationFn: (credentials: SignIn) => carillon.session.open(credentials),
    onSuccess: async ({ csrf_token: token }) => {
      setCsrfToken(token);
      await queries.fetchQuery({ ...sessionQuery, staleTime: 0 });
      // Only paths of this page, whatever the address says.
      const wanted = next?.startsWith('/') && !/^\/[/\\]/.test(next) ? next : '/';
      await router.navigate({ to: wanted, hash: '', replace: true } as never);
    },
  });
  const { mutate } = signIn;
  const [isDamaged, setDamaged] = useState(false);
  useEffect(() => {
    const ticket = ticketOf(location.hash);
    if (ticket === undefined) return;
    // It works once: it has no place in the address any more.
    history.replaceState(history.state, '', location.pathname + location.search);
    setDamaged(ticket === 'damaged');
    if (ticket !== 'damaged') mutate({ ticket });
  }, [mutate]);
  const [usesKey, setUsesKey] = useState(false);
  const oidc = methods.data?.oidc;
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder radius="md" p="xl" w={380}>
        <Stack>
          <Title order={1} size="h3">
            Sign in to Carillon
          </Title>
          {error !== undefined && <Problem error={new Error(FAILURES[error] ?? FAILURES.refused)} />}
          {isDamaged && !signIn.error && <Problem error={new Error(DAMAGED_LINK)} />}
          {signIn.error && <Problem error={signIn.error} />}
          {methods.error && <Problem error={methods.error} onRetry={() => void methods.refetch()} />}
          {oidc && (
            <>
              <Button
                component="a"
                href={serverUrl(`${oidc.start_url}?next=${encodeURIComponent(next ?? '/')}`).href}
              >
                {oidc.label}
              </Button>
              <Divider label="or" />
            </>
          )}
          {usesKey ? (
            <KeyForm busy={signIn.isPending} onSubmit={signIn.mutate} />
          ) : (
            <PasswordForm busy={signIn.isPending} onSubmit={signIn.mutate} />
          )}
          {methods.data?.key !== false && (
            <Anchor component="button" type="button" size="xs" onClick={() => setUsesKey(!usesKey)}>
              {usesKey ? 'Sign in with a name and a password' : 'No account yet? Sign in with the admin key'}
            </Anchor>
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

interface FormProps {
  readonly busy: boolean;
  readonly onSubmit: (credentials: SignIn) => void;
}

function PasswordForm({ busy, onSubmit }: FormProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  return (
    <form onSubmit={submitting(() => onSubmit({ name, password }))}>
      <Stack>
        <TextInput
          label="Name"
          autoComplete="username"
          required
          autoFocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        <Button type="submit" loading={busy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function KeyForm({ busy, onSubmit }: FormProps) {
  const [key, setKey] = useState('');
  return (
    <form onSubmit={submitting(() => onSubmit({ key: key.trim() }))}>
      <Stack>
        <PasswordInput
          label="Admin key"
          autoComplete="off"
          required
          autoFocus
          value={key}
          onChange={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <Text size="xs" c="dimmed">
          It is in the file admin.key of the server's data folder. This page does not keep it: it opens a
          session, in which you can make the first account.
        </Text>
        <Button type="submit" loading={busy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function submitting(act: () => void) {
  return (event: FormEvent) => {
    event.preventDefault();
    act();
  };
}
