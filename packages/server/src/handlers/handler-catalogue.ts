/**
 * What is known of handlers, wherever they run: workers record what they offer, and every server checks the payloads of jobs by it. A
 * server learns within seconds what another one has recorded. A handler that nobody describes takes any payload.
 */
import {
  Cache,
  HANDLER_DESCRIPTION_LENGTH_MAX,
  type HandlerDescription,
  isHandlerName,
  type JobDefinition,
  type JsonObject,
  PARAMETERS_BYTES_MAX,
  PAYLOAD_CHECKS,
  SCRIPT_HANDLER,
} from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import { HANDLERS_PER_WORKER_MAX, type HandlerStore } from '../storage/handler-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { compileSchema, type PayloadSchema, SchemaUnusable } from './payload-schema.ts';
import { SchemaTime } from './schema-time.ts';
import { scriptCheck } from './script-check.ts';

export interface HandlerCatalogueOptions {
  readonly store: HandlerStore;
  /** Who runs scripts, and which. Left out: it is not known. */
  readonly members?: Pick<MemberStore, 'workersOffering'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
}

/** Throws the Refusal of a payload that the handler of the job does not take. */
export type PayloadCheck = (job: Pick<JobDefinition, 'handler' | 'payload'>) => void;

const KNOWN_MS = 3_000;
const KNOWN_MAX = 1_000;
/** A schema that could not be used is tried again after this long: the machine may have been busy. */
const COMPILED_MS = 600_000;
const COMPILED_MAX = 200;
/** What nobody has offered for this long is forgotten. */
const FORGET_MS = 30 * 24 * 3_600_000;

export class HandlerCatalogue {
  readonly #options: HandlerCatalogueOptions;
  /** Names that nobody describes are known as well, as null. */
  readonly #known: Cache<string, HandlerDescription | null>;
  /** By their text. Null: not usable. */
  readonly #compiled: Cache<string, PayloadSchema | null>;
  readonly #scriptChecks: Cache<string, PayloadCheck>;
  readonly #time: SchemaTime;

  constructor(options: HandlerCatalogueOptions) {
    this.#options = options;
    const { clock } = options;
    this.#time = new SchemaTime(clock);
    this.#known = new Cache({ entriesMax: KNOWN_MAX, expiry: { ttlMs: KNOWN_MS, clock } });
    this.#scriptChecks = new Cache({ entriesMax: 1, expiry: { ttlMs: KNOWN_MS, clock } });
    this.#compiled = new Cache({ entriesMax: COMPILED_MAX, expiry: { ttlMs: COMPILED_MS, clock } });
  }

  /**
   * For every worker that registers, with all the handlers it offers. What cannot be used of it is logged and left out: a worker harms
   * only its own handlers. Not for workers that are bound to some namespaces: their schemas would count for the jobs of others.
   */
  async recordSchemas(offered: readonly HandlerDescription[], worker: object = {}): Promise<void> {
    const { store, clock, log } = this.#options;
    const nowMs = clock.now();
    const named = offered.filter(({ name }) => isHandlerName(name)).slice(0, HANDLERS_PER_WORKER_MAX);
    if (named.length < offered.length)
      log.warn({ ...worker, offered: offered.length, used: named.length }, 'handlers are left out');
    const handlers = named.map((handler) => {
      const reason = faultOf(handler);
      if (reason !== undefined)
        log.warn({ ...worker, handler: handler.name, reason }, 'the parameters of a handler are not used');
      return {
        ...handler,
        description: handler.description?.slice(0, HANDLER_DESCRIPTION_LENGTH_MAX),
        parameters: reason === undefined ? handler.parameters : undefined,
      };
    });
    await store.recordHandlers(handlers, { nowMs, forgetBeforeMs: nowMs - FORGET_MS });
    for (const { name } of handlers) this.#known.delete(name);
  }

  /** Reads what is known of these handlers; the check that it answers reads nothing. Undefined: they take any payload. */
  async checkFor(handlers: readonly string[]): Promise<PayloadCheck | undefined> {
    const names = [...new Set(handlers)].filter((name) => !PAYLOAD_CHECKS.has(name));
    const scripts = handlers.includes(SCRIPT_HANDLER) ? await this.#scripts() : undefined;
    const described = new Map<string, HandlerDescription>();
    const unknown: string[] = [];
    for (const name of names) {
      const known = this.#known.get(name);
      if (known) described.set(name, known);
      else if (known === undefined) unknown.push(name);
    }
    for (const [name, found] of await this.#read(unknown)) described.set(name, found);
    if (described.size === 0 && !scripts) return undefined;
    return ({ handler, payload }) => {
      if (handler === SCRIPT_HANDLER) scripts?.({ handler, payload });
      const found = described.get(handler);
      if (found?.parameters !== undefined) this.#check(found, payload);
    };
  }

  async checkPayload(job: Pick<JobDefinition, 'handler' | 'payload'>): Promise<void> {
    (await this.checkFor([job.handler]))?.(job);
  }

  async #scripts(): Promise<PayloadCheck | undefined> {
    const { members } = this.#options;
    if (!members) return undefined;
    const read = async () => scriptCheck(await members.workersOffering(SCRIPT_HANDLER));
    return this.#scriptChecks.getOrLoad('all', read);
  }

  async #read(names: readonly string[]): Promise<Map<string, HandlerDescription>> {
    if (names.length === 0) return new Map();
    const found = new Map(
      (await this.#options.store.describeHandlers(names)).map((handler) => [handler.name, handler]),
    );
    for (const name of names) this.#known.set(name, found.get(name) ?? null);
    return found;
  }

  #check(handler: HandlerDescription, payload: string): void {
    if (handler.origin !== 'worker') {
      this.#checkBy(handler, payload);
      return;
    }
    const { clock, log } = this.#options;
    if (this.#time.isSpent(handler.name)) return;
    const startedAt = clock.monotonic();
    let wasted = false;
    try {
      wasted = !this.#checkBy(handler, payload);
    } finally {
      if (this.#time.spend(handler.name, clock.monotonic() - startedAt, { wasted }))
        log.warn(
          { handler: handler.name },
          'schemas of workers take too much time, and are not used for a while',
        );
    }
  }

  /** False: the schema cannot be used. */
  #checkBy({ name, origin, parameters = '' }: HandlerDescription, payload: string): boolean {
    const key = `${origin === 'worker'} ${parameters}`;
    try {
      const schema = this.#compiled.getOrCompute(key, () =>
        compileSchema(parameters, { trusted: origin !== 'worker' }),
      );
      schema?.check(JSON.parse(payload) as JsonObject);
      return true;
    } catch (error) {
      if (!(error instanceof SchemaUnusable)) throw error;
      // Its worker reads the payload again, and knows better.
      this.#compiled.set(key, null);
      this.#options.log.warn(
        { handler: name, reason: error.message },
        'payloads of a handler are not checked',
      );
      return false;
    }
  }
}

/** Why the schema cannot be recorded; whether it can be compiled shows when it is used. */
function faultOf({ parameters }: HandlerDescription): string | undefined {
  if (parameters === undefined) return undefined;
  if (Buffer.byteLength(parameters) > PARAMETERS_BYTES_MAX)
    return `the schema has more than ${PARAMETERS_BYTES_MAX} bytes`;
  try {
    const schema: unknown = JSON.parse(parameters);
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return undefined;
  } catch {
    return 'the schema is not valid JSON';
  }
  return 'the schema is not an object';
}
