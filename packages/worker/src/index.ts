export * from './execution-engine.ts';
export * from './handler.ts';
export * from './handlers/http-handler.ts';
export type { RunInProgress } from './run-in-progress.ts';
