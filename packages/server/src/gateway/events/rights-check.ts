/**
 * Whether whoever follows the events may still do so, looked at now and then while the stream lasts. A storage that is away
 * for a moment says nothing about the caller; who cannot be recognised for long is let go.
 */
import { type Caller, type Refusal, requireMay } from '@carillon/domain';
import type { EventStream } from '../../event-feed/event-stream.ts';
import { refusalOf } from '../answer-problems.ts';

/** With a heartbeat between them, about a minute. */
const FAILURES_MAX = 4;

export interface RightsCheckOptions {
  readonly events: Pick<EventStream, 'judgeBy'>;
  /** Who the caller is now; rejects when they may no longer come in. */
  readonly recognise: () => Promise<Caller>;
}

export class RightsCheck {
  readonly #options: RightsCheckOptions;
  #failures = 0;

  constructor(options: RightsCheckOptions) {
    this.#options = options;
  }

  /** Undefined: the stream goes on, with what the caller may see by now. Otherwise why it ends. */
  async runOnce(): Promise<Refusal | undefined> {
    const { events, recognise } = this.#options;
    try {
      const caller = await recognise();
      requireMay(caller, 'events.read');
      events.judgeBy(caller);
      this.#failures = 0;
      return undefined;
    } catch (error) {
      const refusal = refusalOf(error);
      this.#failures += 1;
      return refusal.status < 429 || this.#failures >= FAILURES_MAX ? refusal : undefined;
    }
  }
}
