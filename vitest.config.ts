/**
 * The kinds of tests, by what they need. `unit`, `architecture`, `processes` (what waits for real processes, connections and time),
 * `fuzz` (random requests and calls) and `simulation` (the whole system on a seeded clock) need nothing; `db`, `cli` (the command against a server) and `faults` (processes that are
 * killed) get real PostgreSQL servers; `rpc` wants Python 3 and its packages. Each can be run alone with --project.
 */
import { defineConfig } from 'vitest/config';

const NEEDS_A_SERVER = [
  '**/*.db.test.ts',
  '**/*.kafka.test.ts',
  '**/*.redis.test.ts',
  '**/*.browser.test.ts',
];
/** Seconds each, where `npm run check` has few. */
const WAITING = '**/*.process.test.ts';
const NEVER = ['**/node_modules/**', '**/.tools/**', '**/.carillon/**'];
/** What takes many minutes is part of `npm run test:long` alone. */
const ONLY_LONG =
  process.env.CARILLON_TEST_LONG === 'true'
    ? []
    : ['tests/fuzz/schemathesis.test.ts', 'tests/rpc/example-workers/chaos.test.ts'];
const POSTGRES = './tests/support/global-setup.ts';

/** A limit only ends a hang: a test that is right on a fast machine is right on a slow one (hazard 50). */
const LIMITS = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };
/** For whole servers, many requests or many seeds in one test. */
const LONG_LIMITS = { ...LIMITS, testTimeout: 600_000, hookTimeout: 600_000 };

export default defineConfig({
  test: {
    passWithNoTests: true,
    // The default leaves one core to watch mode, and half of a small machine idle.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/**/*.test.ts',
            'bench/**/*.test.ts',
            'tests/support/**/*.test.ts',
            'examples/**/*.test.js',
          ],
          exclude: [...NEVER, ...NEEDS_A_SERVER, WAITING],
          // Files share a process and its modules: loading those anew for each file took more time than the tests.
          isolate: false,
          ...LIMITS,
        },
      },
      {
        test: {
          name: 'processes',
          include: ['packages/**/*.process.test.ts'],
          exclude: NEVER,
          isolate: false,
          // They mostly wait.
          maxWorkers: 4,
          ...LIMITS,
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['tests/architecture/**/*.test.ts'],
          exclude: NEVER,
          ...LIMITS,
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['tests/fuzz/**/*.test.ts'],
          exclude: [...NEVER, ...NEEDS_A_SERVER, ...ONLY_LONG],
          ...LONG_LIMITS,
        },
      },
      {
        test: {
          name: 'db',
          include: [
            'packages/**/*.db.test.ts',
            'bench/**/*.db.test.ts',
            'tests/support/**/*.db.test.ts',
            'tests/fuzz/**/*.db.test.ts',
          ],
          exclude: NEVER,
          globalSetup: POSTGRES,
          ...LIMITS,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['tests/simulation/**/*.test.ts'],
          exclude: NEVER,
          ...LONG_LIMITS,
        },
      },
      {
        test: {
          name: 'rpc',
          include: ['tests/rpc/**/*.test.ts'],
          exclude: [...NEVER, ...ONLY_LONG],
          // The first run installs the packages of Python.
          ...LONG_LIMITS,
        },
      },
      {
        test: {
          name: 'cli',
          include: ['tests/cli/**/*.test.ts'],
          exclude: NEVER,
          // Commands show times by the clock of the machine, also those that run without a process of their own.
          env: { TZ: 'UTC' },
          globalSetup: POSTGRES,
          ...LONG_LIMITS,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['tests/browser/**/*.browser.test.ts'],
          exclude: NEVER,
          globalSetup: [POSTGRES, './tests/browser/global-setup.ts'],
          ...LONG_LIMITS,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['tests/faults/**/*.test.ts'],
          exclude: NEVER,
          globalSetup: POSTGRES,
          // They mostly wait: for leases, for processes that start and end. Nothing in them depends on how fast the machine is.
          maxWorkers: 4,
          ...LONG_LIMITS,
        },
      },
    ],
  },
});
