/** Signing in with a name and a password; afterwards the page that was asked for. */
import { Button, Center, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon, setCsrfToken } from '../../api/carillon.ts';
import { sessionQuery } from '../../api/session.ts';
import { Problem } from '../../ui/problem.tsx';

const route = getRouteApi('/login');

export function SignInScreen() {
  const { next } = route.useSearch();
  const navigate = useNavigate();
  const router = useRouter();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: () => carillon.session.open({ name, password }),
    onSuccess: async ({ csrf_token: token }) => {
      setCsrfToken(token);
      await queries.fetchQuery({ ...sessionQuery, staleTime: 0 });
      // Only addresses of this page: whatever follows is parsed as a path below it.
      if (next?.startsWith('/') && !next.startsWith('//')) router.history.push(next);
      else await navigate({ to: '/' });
    },
  });
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder radius="md" p="xl" w={380}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            signIn.mutate();
          }}
        >
          <Stack>
            <Title order={1} size="h3">
              Sign in to Carillon
            </Title>
            {signIn.error && <Problem error={signIn.error} />}
            <TextInput
              label="Name"
              autoComplete="username"
              required
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              data-autofocus
            />
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              required
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
