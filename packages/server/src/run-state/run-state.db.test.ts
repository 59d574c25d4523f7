/**
 * Two complete servers on one database: what a run saved is where its next attempt goes on, whatever ended the one before; and a run
 * that is asked to stop through one server stops on the other.
 */
import type { RunId } from '@carillon/domain';
import type { Handler, RunContext } from '@carillon/worker';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { type StartedTestServer, startTestServer } from '../testing/start-test-server.ts';

const SOON = { withinMs: 60_000 };
/** Without hints a run that is asked to stop would learn of it after a fifth of this. */
const SETTINGS = { worker: { silent_seconds: 600 }, shutdown_grace_seconds: 0 };

interface RunAnswer {
  readonly run_id: string;
  readonly status: string;
  readonly error_message: string | null;
  readonly result: unknown;
  readonly progress: unknown;
  readonly checkpoint: { readonly epoch: number; readonly bytes: number } | null;
  readonly attempts: readonly { readonly status: string; readonly epoch: number }[];
}

describeOldestPostgres('what a run says of itself', (server) => {
  let database: TestDatabase;
  let asked: StartedTestServer;
  let working: StartedTestServer | undefined;
  /** What the attempts do, first to last. */
  let acts: ((run: RunContext) => unknown)[];
  let begun: RunContext[];

  const work: Handler = async (run) => {
    begun.push(run);
    return acts[begun.length - 1]!(run);
  };
  const startWorking = () =>
    startTestServer({ databaseUrl: database.url, handlers: { work }, settings: SETTINGS });

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    [acts, begun] = [[], []];
    asked = await startTestServer({ databaseUrl: database.url, settings: SETTINGS });
    working = await startWorking();
  });

  afterEach(async () => {
    await working?.stop();
    await asked.stop();
    await database.drop();
  });

  async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${asked.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${asked.key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Answer;
  }

  async function submit(job: object = {}): Promise<string> {
    const retry = { strategy: 'fixed', delay_seconds: 0.1 };
    const fields = { name: 'work', handler: 'work', max_retries: 1, retry, ...job };
    // The first run of a one-off has the id of its job.
    return (await ask<{ job_id: string }>('POST', '/jobs', fields)).job_id;
  }

  const runOf = (runId: string) => ask<RunAnswer>('GET', `/runs/${runId}`);
  const until = (runId: string, status: string) =>
    eventually(async () => {
      const run = await runOf(runId);
      expect(run.status).toBe(status);
      return run;
    }, SOON);
  const stopped = ({ signal }: RunContext) =>
    new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
  const resumed = ({ checkpoint }: RunContext) => ({ from: checkpoint.value });
  const expectResumed = async (runId: string, ends: readonly string[]) => {
    const run = await until(runId, 'SUCCESS');
    expect(run.result).toEqual({ from: { row: 7 } });
    expect(run.attempts.map(({ status }) => status)).toEqual(['SUCCESS', ...ends]);
    expect(run.checkpoint).toBeNull();
    expect(await ask('GET', `/runs/${runId}/checkpoint`)).toMatchObject({ code: 'checkpoint_not_found' });
  };

  it('a checkpoint is handed on after a failure, and removed by the success', async () => {
    const failing = async ({ checkpoint }: RunContext) => {
      await checkpoint.save({ row: 7 });
      throw new Error('boom');
    };
    acts = [failing, resumed];
    await expectResumed(await submit(), ['FAILED']);
  });

  it('a checkpoint is handed on though the handler did not wait for it', async () => {
    const failing = ({ checkpoint }: RunContext) => {
      void checkpoint.save({ row: 7 });
      throw new Error('boom');
    };
    acts = [failing, resumed];
    await expectResumed(await submit(), ['FAILED']);
  });

  it('a checkpoint is handed on after a timeout, which is tried again by the policy of the job', async () => {
    const slow = async (run: RunContext) => {
      await run.checkpoint.save({ row: 7 });
      await stopped(run);
    };
    acts = [slow, resumed];
    await expectResumed(await submit({ timeout_seconds: 1 }), ['TIMED_OUT']);
  });

  it('a checkpoint is handed on after a crash; the attempt that was given up saves nothing beside the next (C7, hazard 14)', async () => {
    const saves = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const crashed = async (run: RunContext) => {
      await run.checkpoint.save({ row: 7 });
      saves.resolve();
      await second.promise;
      return run.checkpoint.save({ row: 8 }).then(
        () => 'saved',
        (error: unknown) => refused.resolve((error as Error).message),
      );
    };
    const refused = Promise.withResolvers<string>();
    const next = async (run: RunContext) => {
      second.resolve();
      await refused.promise;
      return resumed(run);
    };
    acts = [crashed, next];
    const runId = await submit();
    await saves.promise;
    expect((await runOf(runId)).checkpoint).toMatchObject({ epoch: 1, bytes: '{"row":7}'.length });
    expect(await ask('GET', `/runs/${runId}/checkpoint`)).toMatchObject({ run_id: runId, value: { row: 7 } });
    const storage = openTestStorage(database.url);
    const silent = await storage.members.workersOffering('work');
    await storage.members.markDead({ silent, ended: [], nowMs: Date.now() });
    await storage.close();
    // The server that lost it comes back under a new name with its next heartbeat, which is far off here.
    const other = await startWorking();
    try {
      await expectResumed(runId, ['LOST']);
    } finally {
      await other.stop();
    }
    expect(await refused.promise).toMatch(/taken back|given up/);
    expect(begun.map(({ epoch, attempt }) => [epoch, attempt])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('a checkpoint is handed on after its server was shut down (hazard 22)', async () => {
    const saved = Promise.withResolvers<void>();
    const interrupted = async (run: RunContext) => {
      await run.checkpoint.save({ row: 7 });
      saved.resolve();
      await stopped(run);
    };
    acts = [interrupted, resumed];
    const runId = await submit();
    await saved.promise;
    await working?.stop();
    working = await startWorking();
    await expectResumed(runId, ['RETURNED']);
    expect(begun.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('a checkpoint that is too large is refused with its size, and the run is not tried again', async () => {
    acts = [({ checkpoint }) => checkpoint.save('x'.repeat(256 * 1024))];
    const run = await until(await submit(), 'FAILED');
    expect(run.error_message).toMatch(/The checkpoint has 262146 bytes; at most 262144 are kept/);
    expect(run.attempts).toHaveLength(1);
  });

  it('progress is shown while it goes on, and stays when it has ended', async () => {
    const seen = Promise.withResolvers<void>();
    acts = [
      async (run) => {
        run.progress(10);
        run.progress(40.5, 'row 7');
        await seen.promise;
      },
    ];
    const runId = await submit();
    const progress = { percent: 40.5, message: 'row 7' };
    await eventually(async () => expect((await runOf(runId)).progress).toEqual(progress), SOON);
    seen.resolve();
    expect((await until(runId, 'SUCCESS')).progress).toEqual(progress);
  });

  it('hazard 18: asked to stop through another server it is CANCELLING, then CANCELLED though it succeeded, and never tried again', async () => {
    const started = Promise.withResolvers<void>();
    const seen = Promise.withResolvers<void>();
    acts = [
      async (run) => {
        await run.checkpoint.save({ row: 7 });
        started.resolve();
        await stopped(run).catch(() => undefined);
        await seen.promise;
        return 'a late success';
      },
    ];
    const runId = await submit();
    await started.promise;
    const answer = await ask<{ outcome: string; run: { status: string } }>('POST', `/runs/${runId}/cancel`);
    expect([answer.outcome, answer.run.status]).toEqual(['cancelling', 'CANCELLING']);
    await eventually(() => expect(begun[0]!.signal.aborted).toBe(true), SOON);
    expect((await runOf(runId)).status).toBe('CANCELLING');
    seen.resolve();
    const run = await until(runId, 'CANCELLED');
    expect([run.attempts.length, run.result, run.checkpoint]).toEqual([1, null, null]);
    const storage = openTestStorage(database.url);
    expect(await storage.runState.checkpoint(runId as RunId)).toBeUndefined();
    await storage.close();
  });
});
