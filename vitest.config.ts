/**
 * The kinds of tests, by what they need. `unit`, `architecture`, `fuzz` (random requests and calls) and `simulation` (the
 * whole system on a seeded clock) need nothing; `db`, `cli` (the command against a server) and `faults` (processes that are
 * killed) get real PostgreSQL servers; `rpc` wants Python 3 and its packages. Each can be run alone with --project.
 */
import { defineConfig } from 'vitest/config';

const NEEDS_A_SERVER = [
  '**/*.db.test.ts',
  '**/*.kafka.test.ts',
  '**/*.redis.test.ts',
  '**/*.browser.test.ts',
];
const NEVER = ['**/node_modules/**', '**/.tools/**', '**/.carillon/**'];
const POSTGRES = './tests/support/global-setup.ts';

export default defineConfig({
  test: {
    passWithNoTests: true,
    // The default leaves one core to watch mode, and half of a small machine idle.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/**/*.test.ts', 'bench/**/*.test.ts', 'tests/support/**/*.test.ts'],
          exclude: [...NEVER, ...NEEDS_A_SERVER],
        },
      },
      { test: { name: 'architecture', include: ['tests/architecture/**/*.test.ts'], exclude: NEVER } },
      {
        test: {
          name: 'fuzz',
          include: ['tests/fuzz/**/*.test.ts'],
          exclude: [...NEVER, ...NEEDS_A_SERVER],
          testTimeout: 30_000,
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
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['tests/simulation/**/*.test.ts'],
          exclude: NEVER,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'rpc',
          include: ['tests/rpc/**/*.test.ts'],
          exclude: NEVER,
          // The first run installs the packages of Python.
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'cli',
          include: ['tests/cli/**/*.test.ts'],
          exclude: NEVER,
          globalSetup: POSTGRES,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['tests/faults/**/*.test.ts'],
          exclude: NEVER,
          globalSetup: POSTGRES,
          // These kill processes and wait for others to notice: run side by side they would only starve each other.
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
