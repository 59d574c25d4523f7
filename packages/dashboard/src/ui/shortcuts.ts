/** Keys for everything. They do nothing while somebody types or a dialog is open, and can be switched off. */
import { useEffect, useRef } from 'react';
import { preferencesNow } from './preferences.tsx';

export type Shortcuts = Readonly<Record<string, () => unknown>>;

/** A key by its name; `g j` is one key after another. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    let first: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (!preferencesNow().shortcuts || event.ctrlKey || event.metaKey || event.altKey || isBusy(event))
        return;
      const pressed = first === undefined ? event.key : `${first} ${event.key}`;
      first = undefined;
      clearTimeout(timer);
      const act = latest.current[pressed];
      if (act) {
        event.preventDefault();
        act();
      } else if (Object.keys(latest.current).some((key) => key.startsWith(`${event.key} `))) {
        first = event.key;
        timer = setTimeout(() => {
          first = undefined;
        }, SEQUENCE_MS);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('keydown', onKey);
      clearTimeout(timer);
    };
  }, []);
}

const SEQUENCE_MS = 1_200;

function isBusy(event: KeyboardEvent): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (document.querySelector('[role="dialog"]') !== null) return true;
  if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return true;
  // Enter on a link or a button is theirs.
  return event.key === 'Enter' && target.closest('a, button') !== null;
}
