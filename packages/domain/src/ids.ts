/** Branded ids: a JobId cannot be passed where a RunId is meant, though both are UUID strings at run time. */
type Brand<Name extends string> = string & { readonly __brand: Name };

export type JobId = Brand<'JobId'>;
/** One occurrence of a job (all its attempts share the id; it is also the idempotency key handed to user code). */
export type RunId = Brand<'RunId'>;
/** One handed-out batch of runs. */
export type LeaseId = Brand<'LeaseId'>;
export type WorkerId = Brand<'WorkerId'>;
export type NodeId = Brand<'NodeId'>;
/** One start of a process, random: tells apart two processes that both claim to be the same node. */
export type BootId = Brand<'BootId'>;

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };
