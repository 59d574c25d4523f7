/**
 * The views of an answer that the page can show. Others, such as those of another version of the server, are left out: the lists
 * beside which views stand are shown whatever was saved.
 */
import type { SavedView } from '@carillon/client';
import { VIEW_SCREENS } from '@carillon/domain';

export function usableViews(given: unknown): readonly SavedView[] {
  if (!Array.isArray(given)) return [];
  const byId = new Map<string, SavedView>();
  for (const view of given) if (isUsable(view) && !byId.has(view.view_id)) byId.set(view.view_id, view);
  return [...byId.values()];
}

function isUsable(given: unknown): given is SavedView {
  if (typeof given !== 'object' || given === null) return false;
  const { view_id: id, screen, name, query } = given as Partial<Record<keyof SavedView, unknown>>;
  return (
    typeof id === 'string' &&
    typeof name === 'string' &&
    VIEW_SCREENS.some((one) => one === screen) &&
    typeof query === 'object' &&
    query !== null &&
    !Array.isArray(query) &&
    Object.values(query).every((value) => typeof value === 'string')
  );
}
