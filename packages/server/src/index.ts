export { ENGINE_DEFAULTS, type Engine, type EngineSettings } from './compose.ts';
export { type StartEngineOptions, type StartedEngine, startEngine } from './testing/start-engine.ts';
