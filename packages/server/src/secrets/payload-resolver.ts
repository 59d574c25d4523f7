/**
 * Puts the values of secrets into the payloads of claimed runs, on their way to the worker and nowhere else. A run that names a secret
 * that is not there, or cannot be read, ends with that error; the other runs of its batch are as if it were not there.
 */
import {
  type ClaimedBatch,
  type ClaimedRun,
  holdsReferences,
  type JsonObject,
  PAYLOAD_SECRETS_BYTES_MAX,
  Refusal,
  type RunOutcome,
  readSecretNames,
  refuseSecretsInCommand,
  replaceSecrets,
  SCRIPT_HANDLER,
} from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import type { SecretValue, SecretValues } from './secret-values.ts';

export interface PayloadResolverOptions {
  readonly values: Pick<SecretValues, 'of'>;
  readonly clock: Clock;
}

/** The other runs of a batch wait for the values: not longer than this. */
const READ_MS_MAX = 2_000;
/** A short reference may stand for 64 KiB, and stand there many times. */
const RESOLVED_BYTES_MAX = 1024 * 1024;

type Values = ReadonlyMap<string, SecretValue>;

export class PayloadResolver {
  readonly #options: PayloadResolverOptions;

  constructor(options: PayloadResolverOptions) {
    this.#options = options;
  }

  /** Cheap: most batches name none. */
  concerns({ runs }: ClaimedBatch): boolean {
    return runs.some(({ payload }) => holdsReferences(payload));
  }

  async resolve(batch: ClaimedBatch): Promise<ClaimedBatch> {
    const concerned = batch.runs.filter(({ payload }) => holdsReferences(payload));
    const values = await this.#read(concerned).catch((error: unknown) => error as Error);
    const runs = batch.runs.map((run) => {
      if (!holdsReferences(run.payload)) return run;
      if (values instanceof Error) return unstarted(run, notRead(values));
      return resolved(run, values.get(run.namespace ?? '') ?? new Map());
    });
    return { ...batch, runs };
  }

  /** By namespace, each read once. */
  async #read(runs: readonly ClaimedRun[]): Promise<ReadonlyMap<string, Values>> {
    const { values, clock } = this.#options;
    const wanted = new Map<string, Set<string>>();
    for (const { namespace, payload } of runs) {
      if (namespace === undefined) continue;
      const names = wanted.get(namespace) ?? new Set();
      wanted.set(namespace, names);
      for (const name of namesOf(payload)) names.add(name);
    }
    const answered = new AbortController();
    const late = sleep(clock, READ_MS_MAX, answered.signal).then(() => {
      throw new Error(`the database has not answered for ${READ_MS_MAX / 1_000} s`);
    });
    // Aborted, it is of no interest.
    late.catch(() => undefined);
    const reads = [...wanted].map(
      async ([namespace, names]) => [namespace, await values.of(namespace, [...names])] as const,
    );
    try {
      return new Map(await Promise.race([Promise.all(reads), late]));
    } finally {
      answered.abort();
    }
  }
}

function resolved(run: ClaimedRun, values: Values): ClaimedRun {
  const refusal = run.handler === SCRIPT_HANDLER ? commandRefusal(run.payload) : undefined;
  if (refusal !== undefined) return unstarted(run, failed(refusal));
  const names = namesOf(run.payload);
  const missing = names.filter((name) => !values.has(name));
  if (missing.length > 0) return unstarted(run, failed(`there is no secret ${missing.join(', ')} any more`));
  const used = names.map((name) => values.get(name)!);
  const fault = used.find((value) => value instanceof Error);
  // The setting can be put right.
  if (fault instanceof Error) return unstarted(run, { ...failed(fault.message), retryable: true });
  const secrets = used as string[];
  // They were not too large when the job was made, and have got new values since.
  if (secrets.reduce((sum, value) => sum + Buffer.byteLength(value), 0) > PAYLOAD_SECRETS_BYTES_MAX)
    return unstarted(
      run,
      failed(`the secrets of the payload have more than ${PAYLOAD_SECRETS_BYTES_MAX} bytes together`),
    );
  const payload = replaceSecrets(run.payload, (name) => values.get(name) as string | undefined);
  if (Buffer.byteLength(payload) > RESOLVED_BYTES_MAX)
    return unstarted(run, failed('the payload is larger than 1 MiB with its secrets'));
  return { ...run, payload, secrets };
}

/** Of a job that was made before this was refused. */
function commandRefusal(payload: string): string | undefined {
  try {
    refuseSecretsInCommand(JSON.parse(payload) as JsonObject);
    return undefined;
  } catch (error) {
    // What is no JSON is told by its handler.
    return error instanceof Refusal ? error.message : undefined;
  }
}

/** What was stored before it was checked, or only begins like a reference, stays as it is. */
function namesOf(payload: string): readonly string[] {
  try {
    return readSecretNames(payload);
  } catch {
    return [];
  }
}

function unstarted(run: ClaimedRun, failure: RunOutcome): ClaimedRun {
  return { ...run, payload: '{}', failure };
}

function failed(error: string): RunOutcome & { readonly kind: 'FAILED' } {
  return { kind: 'FAILED', error, retryable: false };
}

function notRead(error: Error): RunOutcome {
  return { kind: 'RETURNED', error: `the secrets of the run could not be read: ${error.message}` };
}
