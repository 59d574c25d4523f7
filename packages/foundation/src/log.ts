/** Structured logs. Code names what happened and with which facts; where it goes is decided once, at the start. */
import { pino } from 'pino';

export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  child(facts: object): Log;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Secrets never reach a log, whoever passes them. */
const REDACTED = [
  '*.authorization',
  '*.password',
  '*.adminKey',
  '*.databaseUrl',
  'databaseUrl',
  'authorization',
];

export function createLog(options: { level: LogLevel }): Log {
  return pino(
    {
      level: options.level,
      base: null,
      redact: REDACTED,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Standard error, so that what a program prints for its user stays alone on standard output.
    pino.destination({ fd: 2, sync: true }),
  );
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};
