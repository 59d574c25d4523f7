export * from './define-handler.ts';
export * from './execution-engine.ts';
export * from './handler.ts';
export * from './handler-plugin.ts';
export * from './handlers/egress-policy.ts';
export * from './handlers/http-handler.ts';
export { readHttpPayload } from './handlers/http-payload.ts';
export { httpPlugin } from './handlers/http-plugin.ts';
export { parseNetwork } from './handlers/ip-network.ts';
export {
  type Containment,
  probeContainment,
  type ScriptLimits,
} from './handlers/script/containment.ts';
export { DEFAULT_INTERPRETERS, DEFAULT_PATH, parseInterpreter } from './handlers/script/interpreter.ts';
export type { UserIds } from './handlers/script/run-folder.ts';
export * from './handlers/script/script-handler.ts';
export { scriptLabels } from './handlers/script/script-labels.ts';
export { findUserIds } from './handlers/script/user-ids.ts';
export { signatureHeaders } from './handlers/sign-request.ts';
export { NEVER_CALLED } from './handlers/special-networks.ts';
export * as protocol from './protocol/index.ts';
export { type CreateWorkerOptions, createWorker, type Worker } from './remote/create-worker.ts';
export { type Dial, type WorkerConnection, WorkerRefused } from './remote/remote-home.ts';
export type { TlsFiles } from './remote/tls-files.ts';
export * from './run-channel.ts';
export type { RunInProgress } from './run-in-progress.ts';
export { ReportSender } from './runtime/report-sender.ts';
export { unrecordedMax } from './runtime/unrecorded-bound.ts';
export * from './runtime/worker-home.ts';
export { WorkerRuntime, type WorkerRuntimeOptions } from './runtime/worker-runtime.ts';
export { type MaskedStream, SecretMask } from './secret-mask.ts';
export type { StandardSchemaV1 } from './standard-schema.ts';
export type { RunTrust } from './worker-trust.ts';
