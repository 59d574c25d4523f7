export * from './access/account.ts';
export * from './access/caller.ts';
export * from './access/grants.ts';
export * from './access/group-grants.ts';
export * from './access/own-settings.ts';
export * from './access/permissions.ts';
export * from './access/redact.ts';
export * from './access/secret.ts';
export * from './access/signing-key.ts';
export * from './access/worker-rights.ts';
export * from './cache.ts';
export * from './dispatch/rendezvous.ts';
export * from './errors/catalogue.ts';
export * from './errors/refusal.ts';
export * from './event/event.ts';
export * from './ids.ts';
export { HTTP_PARAMETERS } from './job/check-http-payload.ts';
export * from './job/check-script-payload.ts';
export * from './job/define-job.ts';
export {
  hasControlCharacter,
  isNamespaceName,
  NO_LABELS,
  NO_RESOURCES,
  PAYLOAD_CHECKS,
  readJobKey,
  requireNamespaceName,
} from './job/define-job-values.ts';
export * from './job/field-kinds.ts';
export * from './job/filters.ts';
export * from './job/handler-description.ts';
export * from './job/http-headers.ts';
export * from './job/job.ts';
export * from './job/job-fields.ts';
export * from './job/job-order.ts';
export * from './job/run-input.ts';
export * from './job/secret-references.ts';
export * from './retry/decide-next.ts';
export * from './retry/retry-policy.ts';
export * from './run/first-epoch.ts';
export * from './run/insight.ts';
export * from './run/run.ts';
export * from './run/run-artifacts.ts';
export * from './run/run-errors.ts';
export * from './run/start-delay.ts';
export * from './run/stored-result.ts';
export * from './run/waits-for.ts';
export * from './schedule/index.ts';
