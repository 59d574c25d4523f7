/**
 * The OpenAPI document as a stranger's tool reads it: schemathesis makes requests from it, in all of its phases over every
 * operation, and judges every answer: with the admin key, as a viewer, whom most is forbidden, and without a key. Only in `npm run test:long`.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from '../../packages/server/src/gateway/gateway.fixture.ts';
import { findPython, programOf } from '../rpc/python-environment.ts';
import { SEED } from './fuzz.ts';
import { FuzzWorld } from './fuzz-world.ts';

const run = promisify(execFile);
const python = await findPython({
  requirements: join(import.meta.dirname, 'schemathesis-requirements.txt'),
  imports: 'schemathesis',
});
const isLeftOut = python.kind === 'missing' && process.env.CI !== 'true';
/** Whoever may do everything gets the furthest. */
const CALLERS = [
  { who: 'with the admin key', examples: 30, keyOf: async () => KEY },
  {
    who: 'as a viewer',
    examples: 10,
    keyOf: (gateway: GatewayFixture) => gateway.keyWith({ namespace: '*', role: 'viewer' }),
  },
  { who: 'without a key', examples: 10, keyOf: async () => undefined },
];

/**
 * Left out: a schema cannot say that a cron expression must fire or that two fields contradict each other, so a request that fits
 * it may be refused (positive_data_acceptance); and DELETE of a job cancels it, so it can still be read (use_after_free).
 */
const LEFT_OUT = ['positive_data_acceptance', 'use_after_free'];

/** Too large a body is refused by 413, which its own list of refusals lacks. */
const SETTINGS = `[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]
`;

describe.skipIf(isLeftOut)(`schemathesis${python.kind === 'missing' ? ` (${python.why})` : ''}`, () => {
  test.each(CALLERS)(
    `finds nothing in any phase, $who (SEED=${SEED})`,
    { timeout: 3_000_000 },
    async (caller) => {
      const gateway = new GatewayFixture();
      await FuzzWorld.around(gateway);
      const key = await caller.keyOf(gateway);
      const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
      const folder = await mkdtemp(join(tmpdir(), 'carillon-schemathesis-'));
      try {
        await writeFile(join(folder, 'schemathesis.toml'), SETTINGS);
        const flags = [
          ...(key === undefined ? [] : ['--header', `Authorization: Bearer ${key}`]),
          ...['--header', 'Accept: application/json'],
          ...['--phases', 'examples,coverage,fuzzing,stateful', '--checks', 'all'],
          ...['--exclude-checks', LEFT_OUT.join(',')],
          ...[
            '--max-examples',
            String(caller.examples),
            '--seed',
            String(SEED),
            '--no-shrink',
            '--request-timeout',
            '60',
          ],
        ];
        // Its own script names the folder that it was installed in, which was moved since.
        const start = 'from schemathesis.cli import schemathesis; schemathesis()';
        const args = ['-c', start, 'run', `${address}/api/openapi.json`, ...flags];
        const options = {
          cwd: folder,
          maxBuffer: 64 * 1024 * 1024,
          env: { ...process.env, NO_COLOR: '1', COLUMNS: '150' },
        };
        const { found, said } = await run(programOf(python), args, options).then(
          ({ stdout }) => ({ found: '', said: stdout }),
          (error: { stdout?: string; message: string }) => ({
            found: `${error.message.slice(0, 1_000)}\n${(error.stdout ?? '').slice(-20_000)}`,
            said: error.stdout ?? '',
          }),
        );
        expect(found).toBe('');
        const { body } = await gateway.ask('GET', '/api/openapi.json');
        const count = Object.values(body.paths as Record<string, object>).flatMap((one) =>
          Object.keys(one).filter((name) => /^(get|post|put|patch|delete)$/.test(name)),
        ).length;
        expect(said.replaceAll(/\s+/g, ' ')).toContain(`Selected: ${count}/${count}`);
        for (const phase of ['Examples', 'Coverage', 'Fuzzing', 'Stateful']) expect(said).toContain(phase);
        expect(gateway.errors).toEqual([]);
      } finally {
        await rm(folder, { recursive: true, force: true });
        await gateway.app.close();
      }
    },
  );
});
