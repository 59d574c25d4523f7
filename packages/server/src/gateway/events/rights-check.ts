/**
 * Checks repeatedly whether a caller may still read a stream of events. A storage that is unavailable for a moment says
 * nothing about the caller; a caller that cannot be authenticated for long is disconnected.
 */
import { type Caller, type Refusal, requireMay } from '@carillon/domain';
import type { EventStream } from '../../event-feed/event-stream.ts';
import { refusalOf } from '../answer-problems.ts';

/** How often a stream without events sends a heartbeat, and how often the permissions of its caller are checked. */
export const HEARTBEAT_MS = 15_000;
/** A connection that read nothing for so long, though there were events, is closed. */
export const STALLED_MS_MAX = 60_000;
/** With a heartbeat between them, about a minute. */
const FAILURES_MAX = 4;

export interface RightsCheckOptions {
  readonly events: Pick<EventStream, 'updateCaller'>;
  /** Authenticates again; rejects when the credential is no longer valid. */
  readonly recognise: () => Promise<Caller>;
}

export class RightsCheck {
  readonly #options: RightsCheckOptions;
  #failures = 0;

  constructor(options: RightsCheckOptions) {
    this.#options = options;
  }

  /** Undefined: the stream continues, with what the caller may see now. Otherwise why it ends. */
  async runOnce(): Promise<Refusal | undefined> {
    const { events, recognise } = this.#options;
    try {
      const caller = await recognise();
      requireMay(caller, 'events.read');
      await events.updateCaller(caller);
      this.#failures = 0;
      return undefined;
    } catch (error) {
      const refusal = refusalOf(error);
      this.#failures += 1;
      return refusal.status < 429 || this.#failures >= FAILURES_MAX ? refusal : undefined;
    }
  }
}
