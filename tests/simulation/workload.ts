/** The jobs that simulated users ask for: every kind of schedule, policy and behaviour, in small numbers. */
import type { JobInput } from '@carillon/domain';
import { ACTS, type Behaviour } from './handlers.ts';
import { type Chance, WORLD_START_MS } from './world.ts';

/** Longer than a worker is silent before its runs are taken back. */
const LONG: JobInput = {
  payload: { act: 'ok', ms: 24_000, failures: 0 },
  timeoutSeconds: 40,
  overlap: 'skip',
};

/** endMs: no schedule fires after it, so that everything comes to rest. */
export function someJob(
  chance: Chance,
  options: { name: string; nowMs: number; endMs: number; poison: number; longRuns: number },
): JobInput {
  const isLong = chance.happens(options.longRuns);
  return {
    name: options.name,
    handler: 'simulated',
    payload: chance.happens(options.poison) ? poison(chance) : someBehaviour(chance),
    priority: chance.pick(['low', 'medium', 'high']),
    ...someLimits(chance),
    ...someSchedule(chance, options),
    ...(isLong && LONG),
  };
}

export function someLimits(chance: Chance): JobInput {
  const limits: JobInput = {
    maxConcurrency: chance.pick([1, 1, 1, 2, 3]),
    overlap: chance.pick(['queue', 'queue', 'skip', 'replace']),
    maxRetries: chance.integer(0, 4),
    retry: {
      strategy: chance.pick(['fixed', 'exponential', 'none']),
      delaySeconds: chance.pick([0.1, 1, 3]),
      jitter: chance.happens(0.5),
    },
    timeoutSeconds: chance.pick([2, 6, 15]),
  };
  return chance.happens(0.15) ? { ...limits, startTimeoutSeconds: chance.integer(2, 20) } : limits;
}

export function someBehaviour(chance: Chance): Behaviour {
  const act = chance.happens(0.5) ? 'ok' : chance.pick(ACTS);
  const ms = act === 'stubborn' ? chance.integer(1_000, 25_000) : chance.pick([0, 5, 300, 2_000, 9_000]);
  const connectMs = chance.pick([0, 0, 3, 1_500]);
  return { act, connectMs, ms, failures: act === 'ok' ? 0 : chance.pick([1, 2, 100]) };
}

function poison(chance: Chance): Behaviour {
  return { act: 'poison', ms: 300, failures: chance.pick([1, 3, 100]) };
}

export function someSchedule(chance: Chance, { nowMs, endMs }: { nowMs: number; endMs: number }): JobInput {
  const spread = chance.happens(0.2) ? { spreadSeconds: chance.pick([1, 5, 20]) } : {};
  const recurring = { endAt: iso(endMs), misfire: someMisfire(chance), ...spread };
  switch (chance.integer(0, 5)) {
    case 0:
    case 1:
      return { scheduleType: 'IMMEDIATE' };
    case 2:
      return { scheduleType: 'FUTURE', scheduleTime: iso(chance.integer(nowMs, endMs)) };
    case 3:
      return { ...recurring, cronExpression: chance.pick(['*/2 * * * * *', '*/5 * * * * *', '* * * * *']) };
    case 4:
      return { ...recurring, cronExpression: '* * * * * *' };
    default:
      return { ...recurring, interval: chance.pick(['3s', '10s', '30s', '1m']) };
  }
}

function someMisfire(chance: Chance): NonNullable<JobInput['misfire']> {
  const policy = chance.pick(['none', 'last', 'all'] as const);
  return policy === 'all' ? { policy, maxRuns: chance.integer(1, 5), windowSeconds: 3_600 } : { policy };
}

function iso(atMs: number): string {
  return new Date(WORLD_START_MS + atMs).toISOString();
}
