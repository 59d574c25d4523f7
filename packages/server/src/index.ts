export type { Handler, HandlerPlugin, RunContext } from '@carillon/worker';
export { defineHandler, HandlerError } from '@carillon/worker';
export { ENGINE_DEFAULTS, type Engine, type EngineSettings } from './compose.ts';
export { migrate } from './postgres/migrate.ts';
export { runServer } from './run-server.ts';
export { type StartEngineOptions, type StartedEngine, startEngine } from './start-engine.ts';
