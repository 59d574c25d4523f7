/** How answers are kept: old ones stay on the page while new ones are read, and a lost session leads to the sign-in. */
import { CarillonError } from '@carillon/client';
import { QueryCache, QueryClient } from '@tanstack/react-query';
import { isSignedOut } from './carillon.ts';
import { SESSION_KEY } from './session.ts';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (isSignedOut(error)) queryClient.setQueryData(SESSION_KEY, null);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 5 * 60_000,
      // The client repeats what may be repeated.
      retry: (failures, error) => failures < 2 && !(error instanceof CarillonError),
      placeholderData: (before: unknown) => before,
    },
  },
});
