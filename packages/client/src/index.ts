export { Carillon, type CarillonOptions } from './carillon.ts';
export {
  CarillonError,
  type CarillonErrorCode,
  type CarillonErrorFacts,
  type ClientErrorCode,
  isCarillonError,
} from './carillon-error.ts';
export type * from './generated/types.ts';
export type { LatestEvents } from './latest-events.ts';
export type { EventFilter } from './resources/events.ts';
export type { ApplyOptions, UpdateOptions } from './resources/jobs.ts';
export type { LiveOptions } from './resources/live.ts';
export type { LogFilter, LogMessage, LogQuery, TailOptions } from './resources/run-logs.ts';
export type { WorkerQuery } from './resources/runs.ts';
export type { List, ListPage } from './wire/list.ts';
export type { CallOptions, CreateOptions } from './wire/transport.ts';
export { VERSION } from './wire/user-agent.ts';
