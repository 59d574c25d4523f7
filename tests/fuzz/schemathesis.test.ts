/**
 * The OpenAPI document as a stranger's tool reads it: schemathesis makes requests from it, in all of its phases over every
 * operation, and judges every answer. Only in `npm run test:long`.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
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
const EXAMPLES = 30;

/**
 * Left out: a schema cannot say that a cron expression must fire or that two fields contradict each other, so a request that fits
 * it may be refused (positive_data_acceptance); and DELETE of a job cancels it, so it can still be read (use_after_free).
 */
const LEFT_OUT = ['positive_data_acceptance', 'use_after_free'];

describe.skipIf(isLeftOut)(`schemathesis${python.kind === 'missing' ? ` (${python.why})` : ''}`, () => {
  test(`finds nothing in any phase (SEED=${SEED})`, { timeout: 3_000_000 }, async () => {
    const gateway = new GatewayFixture();
    await FuzzWorld.around(gateway);
    const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
    const folder = await mkdtemp(join(tmpdir(), 'carillon-schemathesis-'));
    try {
      const flags = [
        ...['--header', `Authorization: Bearer ${KEY}`, '--header', 'Accept: application/json'],
        ...['--phases', 'examples,coverage,fuzzing,stateful', '--checks', 'all'],
        ...['--exclude-checks', LEFT_OUT.join(',')],
        ...[
          '--max-examples',
          String(EXAMPLES),
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
      for (const phase of ['Examples', 'Coverage', 'Fuzzing', 'Stateful']) expect(said).toContain(phase);
      expect(gateway.errors).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
      await gateway.app.close();
    }
  });
});
