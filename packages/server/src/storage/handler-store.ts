/** What workers say of the handlers they offer. It outlives them: the payload of a job is also checked while nobody offers its handler. */
import type { HandlerDescription } from '@carillon/domain';

/** Calls with more handlers than this are the mistake of a worker, or worse. */
export const HANDLERS_PER_WORKER_MAX = 1_000;

/** Schemas of one namespace: more are forgotten, the oldest first. */
export const BOUND_SCHEMAS_MAX = 1_000;

/** The schema of the payload of a handler, as a worker said that is bound to the namespace. */
export interface BoundSchema {
  readonly namespace: string;
  readonly name: string;
  readonly parameters: string;
}

interface RecordTimes {
  readonly nowMs: number;
  readonly forgetBeforeMs: number;
}

export interface HandlerStore {
  /**
   * Replaces what is known of these handlers: whoever says it last is right, but no remote worker replaces what a server says of its
   * built-in handlers. Forgets those that nobody offers and that were last recorded before `forgetBeforeMs`.
   */
  recordHandlers(handlers: readonly HandlerDescription[], times: RecordTimes): Promise<void>;
  /** Of those that are known, in order, after the given one. */
  handlerNames(page: { readonly after?: string | undefined; readonly limit: number }): Promise<string[]>;
  /** What is known of those with these names. */
  describeHandlers(names: readonly string[]): Promise<HandlerDescription[]>;
  /** As recordHandlers, for the namespaces that they name alone, of which those that do not exist are left out. */
  recordBound(schemas: readonly BoundSchema[], times: RecordTimes): Promise<void>;
  /** Of these, those that are known. */
  boundSchemas(asked: readonly Pick<BoundSchema, 'namespace' | 'name'>[]): Promise<BoundSchema[]>;
}
