/** Records what the worker of this process offers, so that servers which only answer requests check payloads by it as well. */
import type { HandlerDescription } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { HandlerCatalogue } from './handler-catalogue.ts';

export interface OwnHandlersOptions {
  readonly catalogue: Pick<HandlerCatalogue, 'recordSchemas'>;
  readonly handlers: readonly HandlerDescription[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Once is enough: what a living worker offers is not forgotten. */
const DONE_MS = 24 * 3_600_000;

export class OwnHandlers implements Service {
  readonly #options: OwnHandlersOptions;
  readonly #again: Loop;

  constructor(options: OwnHandlersOptions) {
    this.#options = options;
    this.#again = new Loop({ ...options, name: 'handlers', idleMs: DONE_MS, runOnce: () => this.runOnce() });
  }

  /** If the database does not answer now, it is tried until it does. */
  async start(): Promise<void> {
    await this.runOnce().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'could not record the handlers of this worker yet');
      this.#again.start();
    });
  }

  async stop(): Promise<void> {
    await this.#again.stop();
  }

  async runOnce(): Promise<undefined> {
    const { catalogue, handlers } = this.#options;
    await catalogue.recordSchemas(
      handlers.map(({ name, description, parameters, origin }) => ({
        ...{ name, description, parameters, origin },
      })),
    );
    return undefined;
  }
}
