/** A log that counts its warnings and errors for the metrics. */
import type { Log } from '@carillon/foundation';
import type { Telemetry } from '../telemetry.ts';

export function countedLog(log: Log, telemetry: Pick<Telemetry, 'logged'>): Log {
  const loopOf = (facts: object) => ('loop' in facts ? String(facts.loop) : undefined);
  return {
    debug: (facts, message) => {
      // A pass that fails again and again is told once a minute, and counted each time.
      if ('loop' in facts) telemetry.logged(undefined, loopOf(facts));
      log.debug(facts, message);
    },
    info: (facts, message) => log.info(facts, message),
    warn: (facts, message) => {
      telemetry.logged('warn', loopOf(facts));
      log.warn(facts, message);
    },
    error: (facts, message) => {
      telemetry.logged('error', loopOf(facts));
      log.error(facts, message);
    },
    child: (facts) => countedLog(log.child(facts), telemetry),
  };
}
