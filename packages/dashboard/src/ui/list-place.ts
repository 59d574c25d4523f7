/** Where somebody was in a list, by the entry of the browser's history: Back leads to the same rows, at the same height. */
import { useRouterState } from '@tanstack/react-router';

interface Place {
  readonly scrollTop: number;
  /** The row with the mark of the keyboard; -1: none. */
  readonly at: number;
}

const PLACES_MAX = 100;
const places = new Map<string, Place>();

export function useListPlace(label: string) {
  const entry = useRouterState({
    select: ({ location: { state } }) => (state as { __TSR_key?: string }).__TSR_key ?? '',
  });
  const key = `${entry} ${label}`;
  return {
    before: places.get(key),
    keep: (change: Partial<Place>) => {
      const before = places.get(key) ?? { scrollTop: 0, at: -1 };
      places.delete(key);
      places.set(key, { ...before, ...change });
      if (places.size > PLACES_MAX) places.delete(places.keys().next().value!);
    },
  };
}
