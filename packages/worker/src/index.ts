export * from './execution-engine.ts';
export * from './handler.ts';
export * from './handlers/egress-policy.ts';
export * from './handlers/http-handler.ts';
export { parseNetwork } from './handlers/ip-network.ts';
export { NEVER_CALLED } from './handlers/special-networks.ts';
export * from './run-channel.ts';
export type { RunInProgress } from './run-in-progress.ts';
