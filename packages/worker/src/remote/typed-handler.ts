/** Handlers that describe their payload by a schema: it is checked before the handler is called, and offered to the servers. */
import type { JsonObject } from '@carillon/domain';
import { type Handler, HandlerError, type RunContext } from '../handler.ts';

/** What zod and others have in common (standardschema.dev), as far as it is needed here. */
export interface PayloadSchema<Payload> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaAnswer<Payload> | Promise<SchemaAnswer<Payload>>;
    readonly types?: { readonly input: unknown; readonly output: Payload } | undefined;
    readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}

type SchemaAnswer<Payload> =
  | { readonly value: Payload; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly unknown[] | undefined;
      }[];
    };

/** A run whose payload was read by a schema. */
export type RunOf<Payload> = Omit<RunContext, 'payload'> & { readonly payload: Payload };

export interface TypedHandler<Payload> {
  /** A schema of zod or another library, or a JSON Schema as an object, which is offered and not checked here. */
  readonly parameters: PayloadSchema<Payload> | JsonObject;
  run(run: RunOf<Payload>): unknown;
}

export function readHandler<Payload>(given: TypedHandler<Payload>): { handler: Handler; parameters: string } {
  const { parameters } = given;
  if (!isPayloadSchema<Payload>(parameters))
    return {
      handler: (run) => given.run(run as unknown as RunOf<Payload>),
      parameters: JSON.stringify(parameters),
    };
  const standard = parameters['~standard'];
  const described = standard.jsonSchema?.input({ target: 'draft-2020-12' });
  return {
    parameters: described === undefined ? '' : JSON.stringify(described),
    async handler(run) {
      const answer = await standard.validate(run.payload);
      if (answer.issues) throw new HandlerError(wrongPayload(answer.issues), { retryable: false });
      return given.run(new RunWithPayload(run, answer.value));
    },
  };
}

function isPayloadSchema<Payload>(
  parameters: PayloadSchema<Payload> | JsonObject,
): parameters is PayloadSchema<Payload> {
  return '~standard' in parameters;
}

function wrongPayload(issues: readonly { message: string; path?: readonly unknown[] | undefined }[]): string {
  const [first] = issues;
  const path = (first?.path ?? [])
    .map((part) => String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part))
    .join('.');
  return `The payload is not what the handler takes: ${path === '' ? '' : `${path}: `}${first?.message ?? 'unknown'}`;
}

class RunWithPayload<Payload> implements RunOf<Payload> {
  readonly payload: Payload;
  readonly #run: RunContext;

  constructor(run: RunContext, payload: Payload) {
    this.#run = run;
    this.payload = payload;
  }

  get jobId() {
    return this.#run.jobId;
  }

  get runId() {
    return this.#run.runId;
  }

  get idempotencyKey() {
    return this.#run.idempotencyKey;
  }

  get attempt() {
    return this.#run.attempt;
  }

  get epoch() {
    return this.#run.epoch;
  }

  get scheduledAt() {
    return this.#run.scheduledAt;
  }

  get namespace() {
    return this.#run.namespace;
  }

  get signal() {
    return this.#run.signal;
  }

  get log() {
    return this.#run.log;
  }

  get checkpoint() {
    return this.#run.checkpoint;
  }

  isHeld(): boolean {
    return this.#run.isHeld();
  }

  progress(percent: number, message?: string): void {
    this.#run.progress(percent, message);
  }
}
