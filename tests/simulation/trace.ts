/** What happened, in order, for the reader of a failure: kept as facts while it runs, put into words only when asked for. */
export interface TraceEvent {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  /** Jobs and runs it is about; none: it is about everybody. */
  readonly about: readonly string[];
  readonly facts: unknown;
}

const EVENTS_SHOWN = 60;

export class Trace {
  readonly #events: TraceEvent[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(who: string, what: string, about: readonly string[] = [], facts?: unknown): void {
    this.#events.push({ atMs: this.#now(), who, what, about, facts });
  }

  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  /** The last events about whatever ids the message names, with the faults around them. */
  around(message: string): string {
    const named = (id: string) => id.length > 1 && message.includes(id);
    const all = this.#events.filter(({ about }) => about.length === 0 || about.some(named));
    return all
      .slice(-EVENTS_SHOWN)
      .map((event) => line({ ...event, about: event.about.filter(named) }))
      .join('\n');
  }

  /** A number that differs when anything in the history does. */
  digest(): number {
    let hash = 0x811c9dc5;
    for (const event of this.#events) {
      const text = line(event);
      for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
    return hash >>> 0;
  }
}

function line({ atMs, who, what, about, facts }: TraceEvent): string {
  const told = facts === undefined ? '' : ` ${JSON.stringify(facts)}`;
  return `${(atMs / 1000).toFixed(3).padStart(9)} s  ${who.padEnd(8)} ${what} ${about.join(' ')}${told}`;
}
