/** What workers say of the handlers they offer. It outlives them: the payload of a job is also checked while nobody offers its handler. */
import type { HandlerDescription } from '@carillon/domain';

/** Calls with more handlers than this are the mistake of a worker, or worse. */
export const HANDLERS_PER_WORKER_MAX = 1_000;

export interface HandlerStore {
  /**
   * Replaces what is known of these handlers: whoever says it last is right, but no remote worker replaces what a server says of its
   * built-in handlers. Forgets those that nobody offers and that were last recorded before `forgetBeforeMs`.
   */
  recordHandlers(
    handlers: readonly HandlerDescription[],
    times: { readonly nowMs: number; readonly forgetBeforeMs: number },
  ): Promise<void>;
  /** Of those that are known, in order, after the given one. */
  handlerNames(page: { readonly after?: string | undefined; readonly limit: number }): Promise<string[]>;
  /** What is known of those with these names. */
  describeHandlers(names: readonly string[]): Promise<HandlerDescription[]>;
}
