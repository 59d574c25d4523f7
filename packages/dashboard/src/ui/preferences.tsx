/** What a person chose: the zone of shown times, whether the page updates by itself, shortcuts. Kept in this browser, for before the sign-in. */
import { createContext, type ReactNode, useContext, useMemo, useSyncExternalStore } from 'react';
import { type ZoneChoice, zoneName } from './time.ts';

export interface Preferences {
  readonly zone: ZoneChoice;
  readonly shortcuts: boolean;
  readonly live: boolean;
}

const STORED_AS = 'carillon.preferences';
const DEFAULTS: Preferences = { zone: 'local', shortcuts: true, live: true };

let current = read();
const listeners = new Set<() => void>();

function read(): Preferences {
  try {
    const stored = JSON.parse(localStorage.getItem(STORED_AS) ?? '{}') as Partial<Preferences>;
    if (stored.zone !== undefined) zoneIsKnown(stored.zone);
    return { ...DEFAULTS, ...stored };
  } catch {
    return DEFAULTS;
  }
}

/** Throws for a zone that this browser does not know. */
function zoneIsKnown(zone: ZoneChoice): void {
  new Intl.DateTimeFormat('en', { timeZone: zoneName(zone) });
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  for (const listener of listeners) listener();
}

export function preferencesNow(): Preferences {
  return current;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

/** A part of the page may show times in a zone of its own, such as the schedule of a job. */
const ZoneContext = createContext<string | undefined>(undefined);

export function InZone({ zone, children }: { zone: string; children: ReactNode }) {
  return <ZoneContext value={zone}>{children}</ZoneContext>;
}

/** The IANA name of the zone that times are shown in here. */
export function useZone(): string {
  const given = useContext(ZoneContext);
  const { zone } = usePreferences();
  return useMemo(() => given ?? zoneName(zone), [given, zone]);
}
