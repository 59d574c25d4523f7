/** How answers are kept: old ones stay on the page while new ones are read, and a lost session leads to the sign-in. */

import { CarillonError } from '@carillon/client';
import { QueryCache, QueryClient } from '@tanstack/react-query';
import { preferencesNow } from '../ui/preferences.tsx';
import { isSignedOut } from './carillon.ts';
import { KEPT } from './polling.ts';
import { queryKeys } from './query-keys.ts';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (isSignedOut(error)) queryClient.setQueryData(queryKeys.session(), null);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: KEPT.anyMs,
      gcTime: 5 * 60_000,
      // Whoever has paused the page comes back to what they left.
      refetchOnWindowFocus: () => preferencesNow().live,
      refetchOnReconnect: () => preferencesNow().live,
      // The client repeats what may be repeated.
      retry: (failures, error) => failures < 2 && !(error instanceof CarillonError),
      placeholderData: (before: unknown) => before,
    },
  },
});
