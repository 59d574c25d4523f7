export * from './nearest-word.ts';
export * from './rest/accounts.ts';
export * from './rest/bulk-runs.ts';
export * from './rest/dead-letters.ts';
export * from './rest/events.ts';
export * from './rest/examples.ts';
export * from './rest/handlers.ts';
export * from './rest/insight.ts';
export * from './rest/job-body.ts';
export * from './rest/job-changes.ts';
export * from './rest/job-query.ts';
export * from './rest/jobs.ts';
export * from './rest/keys.ts';
export * from './rest/live.ts';
export * from './rest/own-settings.ts';
export * from './rest/previews.ts';
export * from './rest/problem.ts';
export * from './rest/run-details.ts';
export * from './rest/run-logs.ts';
export * from './rest/run-state.ts';
export * from './rest/run-story.ts';
export * from './rest/runs.ts';
export * from './rest/secrets.ts';
export { readShape, type Shape, unwrapped } from './rest/shape.ts';
export * from './rest/signing-keys.ts';
export * from './rest/stats.ts';
export {
  etagOf,
  isRequestId,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  parseIdempotencyKey,
  parseIfMatch,
  readId,
} from './rest/values.ts';
export * from './rest/workers.ts';
export * as rpc from './rpc/index.ts';
