/**
 * Signs the requests of http runs that go to a worker on another machine. The worker is given the headers, never a key: whoever takes
 * over its machine can send what it was given to send, and can sign nothing else.
 */
import {
  CALL_ERRORS,
  type ClaimedBatch,
  type ClaimedRun,
  type JsonObject,
  type WorkerId,
} from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import { readHttpPayload, signatureHeaders } from '@carillon/worker';
import type { SigningSecrets } from './signing-secrets.ts';

export interface RequestSignerOptions {
  readonly secrets: Pick<SigningSecrets, 'of'>;
  readonly clock: Clock;
  /** Whether the worker is at the end of a stream: one in this process signs at the moment of its request. */
  readonly isRemote: (workerId: WorkerId) => boolean;
}

/** The other runs of a batch wait for the keys: not longer than this. */
const READ_MS_MAX = 2_000;
const HTTP_HANDLER = 'http';

type Keys = readonly Uint8Array[];

export class RequestSigner {
  readonly #options: RequestSignerOptions;

  constructor(options: RequestSignerOptions) {
    this.#options = options;
  }

  concerns({ workerId, runs }: ClaimedBatch): boolean {
    return this.#options.isRemote(workerId) && runs.some(mayBeSigned);
  }

  async resolve(batch: ClaimedBatch): Promise<ClaimedBatch> {
    const namespaces = new Set(batch.runs.filter(mayBeSigned).map(({ namespace }) => namespace!));
    const keys = new Map(
      await Promise.all([...namespaces].map(async (each) => [each, await this.#keysOf(each)] as const)),
    );
    const runs = batch.runs.map((run) =>
      mayBeSigned(run) ? this.#signed(run, keys.get(run.namespace!)!) : run,
    );
    return { ...batch, runs };
  }

  async #keysOf(namespace: string): Promise<Keys | Error> {
    const { secrets, clock } = this.#options;
    const answered = new AbortController();
    const late = sleep(clock, READ_MS_MAX, answered.signal).then(
      () => new Error(`the database has not answered for ${READ_MS_MAX / 1_000} s`),
    );
    try {
      return await Promise.race([secrets.of(namespace), late]);
    } catch (error) {
      return error as Error;
    } finally {
      answered.abort();
      late.catch(() => undefined);
    }
  }

  /** A request that cannot be signed is not sent: the receiver would take it for a forgery. */
  #signed(run: ClaimedRun, keys: Keys | Error): ClaimedRun {
    if (keys instanceof Error)
      return failed(run, `${CALL_ERRORS.notSigned}: ${keys.message}`, { retryable: true });
    if (keys.length === 0) return run;
    try {
      const { body } = readHttpPayload(JSON.parse(run.payload) as JsonObject);
      const atMs = this.#options.clock.now();
      return { ...run, signature: signatureHeaders({ runId: run.runId, atMs, body }, keys) };
    } catch (error) {
      return failed(run, (error as Error).message, { retryable: false });
    }
  }
}

function mayBeSigned({ handler, namespace, failure }: ClaimedRun): boolean {
  return handler === HTTP_HANDLER && namespace !== undefined && failure === undefined;
}

function failed(run: ClaimedRun, error: string, { retryable }: { retryable: boolean }): ClaimedRun {
  return { ...run, payload: '{}', failure: { kind: 'FAILED', error, retryable } };
}
