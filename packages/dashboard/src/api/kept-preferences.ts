/** What a person chose on the page, kept by the server too: the same in every browser that they sign in with. */

import { COLOUR_SCHEMES } from '@carillon/domain';
import { useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { notify } from '../ui/notify.ts';
import { type Preferences, preferencesNow, setPreferences } from '../ui/preferences.tsx';
import { carillon } from './carillon.ts';
import { queryKeys } from './query-keys.ts';
import { useCaller } from './session.ts';

type Scheme = (typeof COLOUR_SCHEMES)[number];
type Kept = Pick<Preferences, 'zone' | 'shortcuts'> & { readonly scheme: Scheme };

/** Changes them here, and tells the server where the session is one of a person. */
export function useKeepPreferences(): (change: Partial<Kept>) => void {
  const isPerson = useCaller()?.user_id != null;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return useCallback(
    ({ scheme, ...others }) => {
      setPreferences(others);
      if (scheme !== undefined) setColorScheme(scheme);
      if (!isPerson) return;
      const { zone, shortcuts } = preferencesNow();
      carillon.me
        .putPreferences({ zone, shortcuts, scheme: scheme ?? colorScheme })
        .catch((error: unknown) => notify({ error }));
    },
    [isPerson, colorScheme, setColorScheme],
  );
}

/** What was chosen in another browser, once after the sign-in. */
export function useKeptPreferences(): void {
  const userId = useCaller()?.user_id ?? null;
  const { setColorScheme } = useMantineColorScheme();
  const { data } = useQuery({
    queryKey: queryKeys.preferences(userId),
    queryFn: ({ signal }) => carillon.me.preferences({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: userId !== null,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    if (!data) return;
    const { zone, shortcuts, scheme } = data;
    setPreferences({ ...(zone !== null && { zone }), ...(shortcuts !== null && { shortcuts }) });
    const known = COLOUR_SCHEMES.find((one) => one === scheme);
    if (known !== undefined) setColorScheme(known);
  }, [data]);
}
