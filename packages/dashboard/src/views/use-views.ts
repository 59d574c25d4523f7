/** The views that whoever is signed in has saved: the filters and the order of a list, under a name. The server keeps them. */

import type { SavedView } from '@carillon/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { carillon } from '../api/carillon.ts';
import { KEPT } from '../api/polling.ts';
import { queryKeys } from '../api/query-keys.ts';
import { useCaller } from '../api/session.ts';
import { randomKey } from '../ui/random-key.ts';
import { usableViews } from './usable-views.ts';

export type ViewScreen = SavedView['screen'];
export type ViewQuery = SavedView['query'];

export const WHY_NO_VIEWS =
  'Views belong to an account, and this session is one of the admin key. Sign in with an account of your own.';

interface Views {
  readonly views: readonly SavedView[];
  /** Undefined: the caller can have views. */
  readonly why: string | undefined;
  /** Replaces the view of the same name. */
  readonly save: (screen: ViewScreen, name: string, query: ViewQuery) => Promise<unknown>;
  readonly rename: (view: SavedView, name: string) => Promise<unknown>;
  readonly remove: (view: SavedView) => Promise<unknown>;
  /** As it was, for an undo. */
  readonly restore: (view: SavedView) => Promise<unknown>;
}

export function useViews(): Views {
  const caller = useCaller();
  const queries = useQueryClient();
  const isPerson = caller !== null && caller.user_id !== null;
  const { data: views = [] } = useQuery({
    queryKey: queryKeys.views(caller?.user_id),
    queryFn: async ({ signal }) => usableViews(await carillon.me.views({ signal })),
    staleTime: KEPT.seldomMs,
    enabled: isPerson,
  });
  const reread = useCallback(() => queries.invalidateQueries({ queryKey: queryKeys.views() }), [queries]);
  const put = ({ view_id: id, screen, name, query }: Omit<SavedView, 'updated_at'>) =>
    carillon.me.putView(id, { screen, name: name.trim(), query }).then(reread);
  return {
    views,
    why: isPerson ? undefined : WHY_NO_VIEWS,
    save: (screen, name, query) => {
      const same = namesake(views, { screen, name });
      return put({ view_id: same?.view_id ?? uuid(), screen, name, query });
    },
    rename: (view, name) => put({ ...view, name }),
    remove: (view) => carillon.me.removeView(view.view_id).then(reread),
    restore: put,
  };
}

export function namesake(
  views: readonly SavedView[],
  { screen, name }: { screen: ViewScreen; name: string },
): SavedView | undefined {
  return views.find((view) => view.screen === screen && view.name === name.trim());
}

/** What is saved of an address: everything in its query. */
export function queryOf(search: Readonly<Record<string, unknown>>): ViewQuery {
  const said = Object.entries(search).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said.map(([name, value]) => [name, String(value)]));
}

/** The view that the address shows now. */
export function viewShown(
  views: readonly SavedView[],
  screen: ViewScreen,
  query: ViewQuery,
): SavedView | undefined {
  return views.find((view) => view.screen === screen && isSame(view.query, query));
}

function isSame(one: ViewQuery, other: ViewQuery): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

function uuid(): string {
  const hex = randomKey();
  const version = `4${hex.slice(13, 16)}`;
  const variant = `8${hex.slice(17, 20)}`;
  return [hex.slice(0, 8), hex.slice(8, 12), version, variant, hex.slice(20)].join('-');
}
