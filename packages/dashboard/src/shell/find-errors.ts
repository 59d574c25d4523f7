/** What Ctrl K finds by the text of an error. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { queryKeys } from '../api/query-keys.ts';
import { may, useCaller } from '../api/session.ts';

/** Of the list that Ctrl K shows. */
export interface Entry {
  /** Of this entry alone: addresses and words may be shared, and rows with one key would stay when the entries change. */
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly go: () => unknown;
}

/** Shorter words are part of too many errors. */
const ERROR_CHARS_MIN = 3;
const GROUPS_SHOWN_MAX = 3;
const GROUPS_READ_MAX = 100;

/** Failures of the last day whose error contains it. */
export function useFailureEntries(asked: string): readonly Entry[] {
  const navigate = useNavigate();
  const { ns } = useSearch({ strict: false });
  const isMeant = asked.length >= ERROR_CHARS_MIN;
  const { data = [] } = useQuery({
    queryKey: queryKeys.failures(ns, 'palette'),
    queryFn: ({ signal }) =>
      carillon.stats.failures({ namespace: ns, from: '24h', limit: GROUPS_READ_MAX }, { signal }),
    enabled: isMeant,
  });
  if (!isMeant) return [];
  return data
    .filter(({ message, handler }) => handler !== null && message.toLowerCase().includes(asked.toLowerCase()))
    .slice(0, GROUPS_SHOWN_MAX)
    .map(({ fingerprint, message, count, handler, namespace }) => ({
      key: `failure ${fingerprint} ${namespace}`,
      title: message.split('\n', 1)[0]!,
      detail: `error · ${count}× in 24 h · ${handler} · ${namespace}`,
      go: () =>
        navigate({
          to: '/runs',
          search: {
            ...{ ns: ns ?? namespace, status: 'FAILED,TIMED_OUT', since: '24h', attempts: 'all' },
            ...{ handler: handler!, failure: fingerprint },
          },
        }),
    }));
}

/** All runs with it in their error: the last entry, because it names nothing that is known to be there. */
export function useErrorSearch(asked: string): readonly Entry[] {
  const navigate = useNavigate();
  const { ns } = useSearch({ strict: false });
  const maySearch = may(useCaller(), 'payloads.read', { namespace: ns });
  if (asked.length < ERROR_CHARS_MIN || !maySearch) return [];
  return [
    {
      ...{ key: 'error', title: `Runs whose error contains “${asked}”`, detail: 'runs' },
      go: () => navigate({ to: '/runs', search: { error: asked } }),
    },
  ];
}
