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
import {
  BOUND_SCHEMAS_MAX,
  type BoundSchema,
  HANDLERS_PER_WORKER_MAX,
  type HandlerStore,
} from '../storage/handler-store.ts';
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

/** What is looked up for a job, before its payload is checked. */
type Wanted = Pick<JobDefinition, 'handler' | 'namespace'>;

/** Throws the Refusal of a payload that the handler of the job does not take. */
export type PayloadCheck = (job: Wanted & Pick<JobDefinition, 'payload'>) => void;

const KNOWN_MS = 3_000;
const KNOWN_MAX = 1_000;
/** A schema that could not be used is tried again after this long: the machine may have been busy. */
const COMPILED_MS = 600_000;
const COMPILED_MAX = 200;
/** What nobody has offered for this long is forgotten. */
const FORGET_MS = 30 * 24 * 3_600_000;
/** Of a worker that is bound to namespaces, its schemas in all of these together. */
const BOUND_BYTES_MAX = 4 * 1_024 * 1_024;

export class HandlerCatalogue {
  readonly #options: HandlerCatalogueOptions;
  /** Names that nobody describes are known as well, as null. */
  readonly #known: Cache<string, HandlerDescription | null>;
  /** The schemas of workers that are bound to a namespace, by keyOf. Null: there is none. */
  readonly #bound: Cache<string, string | null>;
  /** By their text. Null: not usable. */
  readonly #compiled: Cache<string, PayloadSchema | null>;
  readonly #scriptChecks: Cache<string, PayloadCheck>;
  readonly #time: SchemaTime;

  constructor(options: HandlerCatalogueOptions) {
    this.#options = options;
    const { clock } = options;
    this.#time = new SchemaTime(clock);
    this.#known = new Cache({ entriesMax: KNOWN_MAX, expiry: { ttlMs: KNOWN_MS, clock } });
    this.#bound = new Cache({ entriesMax: KNOWN_MAX, expiry: { ttlMs: KNOWN_MS, clock } });
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

  /**
   * As recordSchemas, of a worker that is bound to namespaces: its schemas count for the jobs of these alone, and stand in no list, which
   * people of other namespaces read too.
   */
  async recordBoundSchemas(
    offered: readonly { readonly name: string; readonly parameters: string }[],
    { namespaces, worker }: { readonly namespaces: readonly string[]; readonly worker: object },
  ): Promise<void> {
    const { store, clock, log } = this.#options;
    const nowMs = clock.now();
    let bytes = 0;
    const schemas: BoundSchema[] = [];
    for (const { name, parameters } of offered) {
      const reason = isHandlerName(name) ? faultOf({ parameters }) : 'the handler has no valid name';
      if (reason === undefined) bytes += Buffer.byteLength(parameters) * namespaces.length;
      const left = schemas.length + namespaces.length > BOUND_SCHEMAS_MAX || bytes > BOUND_BYTES_MAX;
      if (reason !== undefined || left)
        log.warn(
          { ...worker, handler: name, reason: reason ?? 'the worker has too many in all its namespaces' },
          'the parameters of a handler are not used',
        );
      if (left) break;
      if (reason === undefined)
        schemas.push(...namespaces.map((namespace) => ({ namespace, name, parameters })));
    }
    await store.recordBound(schemas, { nowMs, forgetBeforeMs: nowMs - FORGET_MS });
    for (const { name, namespace } of schemas) this.#bound.delete(keyOf({ handler: name, namespace }));
  }

  /** Reads what is known of the handlers of these jobs; the check that it answers reads nothing. Undefined: they take any payload. */
  async checkFor(jobs: Iterable<Wanted>): Promise<PayloadCheck | undefined> {
    const wanted = new Map<string, Wanted>();
    for (const job of jobs) wanted.set(keyOf(job), job);
    const uses = [...wanted.values()].filter(({ handler }) => !PAYLOAD_CHECKS.has(handler));
    const hasScripts = wanted.size > uses.length && [...wanted.values()].some(isScript);
    const scripts = hasScripts ? await this.#scripts() : undefined;
    const [described, bound] = await Promise.all([
      readThrough(this.#known, new Set(uses.map(({ handler }) => handler)), (names) => this.#read(names)),
      readThrough(this.#bound, new Set(uses.map(keyOf)), (keys) =>
        this.#readBound(keys.map((key) => wanted.get(key)!)),
      ),
    ]);
    if (described.size === 0 && bound.size === 0 && !scripts) return undefined;
    return (job) => {
      if (isScript(job)) scripts?.(job);
      const found = described.get(job.handler);
      const own = bound.get(keyOf(job));
      // What a server says of its own handlers comes first; then, what the workers of the namespace say.
      if (own !== undefined && (found === undefined || found.origin === 'worker'))
        this.#check(
          { name: keyOf(job), description: undefined, parameters: own, origin: 'worker' },
          job.payload,
        );
      else if (found?.parameters !== undefined) this.#check(found, job.payload);
    };
  }

  async checkPayload(job: Wanted & Pick<JobDefinition, 'payload'>): Promise<void> {
    (await this.checkFor([job]))?.(job);
  }

  async #scripts(): Promise<PayloadCheck | undefined> {
    const { members } = this.#options;
    if (!members) return undefined;
    const read = async () => scriptCheck(await members.workersOffering(SCRIPT_HANDLER));
    return this.#scriptChecks.getOrLoad('all', read);
  }

  async #read(names: readonly string[]): Promise<Map<string, HandlerDescription>> {
    const found = await this.#options.store.describeHandlers(names);
    return new Map(found.map((handler) => [handler.name, handler]));
  }

  async #readBound(uses: readonly Wanted[]): Promise<Map<string, string>> {
    const asked = uses.map(({ namespace, handler }) => ({ namespace, name: handler }));
    const found = await this.#options.store.boundSchemas(asked);
    return new Map(
      found.map(({ namespace, name, parameters }) => [keyOf({ namespace, handler: name }), parameters]),
    );
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

function isScript({ handler }: Pick<JobDefinition, 'handler'>): boolean {
  return handler === SCRIPT_HANDLER;
}

/** No name of a namespace holds a space. */
function keyOf({ namespace, handler }: Wanted): string {
  return `${namespace} ${handler}`;
}

/** Of these keys, those that there is something of: from the cache, and the others in one read. */
async function readThrough<Value>(
  cache: Cache<string, Value | null>,
  keys: ReadonlySet<string>,
  read: (unknown: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): Promise<Map<string, Value>> {
  const found = new Map<string, Value>();
  const unknown: string[] = [];
  for (const key of keys) {
    const known = cache.get(key);
    if (known === undefined) unknown.push(key);
    else if (known !== null) found.set(key, known);
  }
  if (unknown.length === 0) return found;
  const there = await read(unknown);
  for (const key of unknown) {
    const value = there.get(key);
    cache.set(key, value ?? null);
    if (value !== undefined) found.set(key, value);
  }
  return found;
}

/** Why the schema cannot be recorded; whether it can be compiled shows when it is used. */
function faultOf({ parameters }: Pick<HandlerDescription, 'parameters'>): string | undefined {
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
