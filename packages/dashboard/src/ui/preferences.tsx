/** What a person chose: the zone of shown times, whether the page updates by itself, shortcuts. Kept in this browser, for before the sign-in. */
import { createContext, type ReactNode, useContext, useMemo, useSyncExternalStore } from 'react';
import { type ZoneChoice, zoneName } from './time.ts';

export interface Preferences {
  readonly zone: ZoneChoice;
  readonly shortcuts: boolean;
  readonly live: boolean;
  /** The last zone that was neither that of the browser nor UTC: the key t leads to it, too. */
  readonly otherZone?: ZoneChoice | undefined;
}

const STORED_AS = 'carillon.preferences';
const DEFAULTS: Preferences = { zone: 'local', shortcuts: true, live: true };

let current = read();
const listeners = new Set<() => void>();

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...usablePreferences(JSON.parse(localStorage.getItem(STORED_AS) ?? '{}')) };
  } catch {
    return DEFAULTS;
  }
}

/** What of it this browser can use: every page shows times, and none could in a zone that it does not know. */
export function usablePreferences(given: unknown): Partial<Preferences> {
  const { zone, shortcuts, live, otherZone } = (given ?? {}) as Partial<Record<keyof Preferences, unknown>>;
  return {
    ...(typeof zone === 'string' && isKnownZone(zone) && { zone }),
    ...(typeof shortcuts === 'boolean' && { shortcuts }),
    ...(typeof live === 'boolean' && { live }),
    ...(typeof otherZone === 'string' && isKnownZone(otherZone) && { otherZone }),
  };
}

function isKnownZone(zone: ZoneChoice): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zoneName(zone) });
    return zone !== '';
  } catch {
    return false;
  }
}

export function setPreferences(change: Partial<Preferences>): void {
  const usable = usablePreferences(change);
  current = { ...current, ...usable };
  if (usable.zone !== undefined && !EVERYBODYS.includes(usable.zone))
    current = { ...current, otherZone: usable.zone };
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  for (const listener of listeners) listener();
}

/** Those that everybody has. */
const EVERYBODYS: readonly ZoneChoice[] = ['local', 'UTC'];

/** The zone that follows the chosen one: that of the browser, UTC, the last other one. */
export function nextZone({ zone, otherZone }: Pick<Preferences, 'zone' | 'otherZone'>): ZoneChoice {
  const choices = [...EVERYBODYS, ...(otherZone === undefined ? [] : [otherZone])];
  return choices[(choices.indexOf(zone) + 1) % choices.length]!;
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

const ZoneOfJob = createContext<string | undefined>(undefined);

interface AboutJobProps {
  /** Of its schedule; whatever is no zone counts as none. */
  readonly zone: unknown;
  readonly children: ReactNode;
}

/** For people who look at each job by its own clock. */
export function AboutJob({ zone, children }: AboutJobProps) {
  const known = typeof zone === 'string' && isKnownZone(zone) ? zone : undefined;
  return <ZoneOfJob value={known}>{children}</ZoneOfJob>;
}

/** The IANA name of the zone that times are shown in. */
export function useZone(): string {
  const { zone } = usePreferences();
  const ofJob = useContext(ZoneOfJob);
  return useMemo(() => zoneName(zone, ofJob), [zone, ofJob]);
}
