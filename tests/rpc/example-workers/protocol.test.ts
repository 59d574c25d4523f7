/**
 * The rules of workers.proto about runs, for the worker of @carillon/worker and every example worker alike, against a server that plays its part
 * as each case needs it. Those about connections are in connection.test.ts.
 */
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { describeWorkers, LEASE, LIMIT, LONG, NEXT, serve } from './describe-workers.ts';
import { runIdOf } from './scripted-server.ts';
import { gone } from './worker-process.ts';

const [STDOUT, STDERR] = [0, 1];
/** A process for each run, in Python. */
const MANY = { withinMs: 400_000 };

await describeWorkers(({ language, launch, connect }) => {
  test('says who it is and what it offers', async () => {
    const { session } = await connect({}, { slots: 3, name: 'ada', args: ['--label', 'gpu=a100'] });
    expect(session.hello).toMatchObject({
      ...{ protocol: 1, session: 1, name: 'ada', language: language, heldRuns: [], executing: 0 },
      workerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      offer: { slots: 3, labels: { gpu: 'a100' }, draining: false },
    });
    const names = session.hello?.offer?.handlers.map(({ name }) => name);
    expect(names).toEqual(['count', 'echo', 'fail', 'resize-image', 'wait']);
  });

  test('ends with the reason when its key is refused', async () => {
    const server = await serve();
    const worker = launch(server, { key: 'another-key' });
    expect(await worker.exited).toBe(1);
    expect(await worker.output()).toContain('This key may not connect workers.');
  });

  test('runs a handler: payload, result, and output apart and in order', async () => {
    const { server, session } = await connect();
    server.assign(session, LEASE, [{ handler: 'echo', payload: { text: 'hello' }, epoch: 7 }]);
    expect(await server.ended(LEASE)).toMatchObject({
      kind: 'SUCCESS',
      result: { text: 'hello' },
      epoch: 7,
    });
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe('hello\n');
    expect(server.textOf(LEASE, 0, STDERR!)).toBe('attempt 1, epoch 7\n');
  });

  test('tells failures that can be tried again from final ones', async () => {
    const { server, session } = await connect();
    const runs = [true, false].map((retryable) => ({
      handler: 'fail',
      payload: { message: 'no', retryable },
    }));
    server.assign(session, LEASE, runs);
    expect(await server.ended(LEASE, 0)).toMatchObject({ kind: 'FAILED', error: 'no', retryable: true });
    expect(await server.ended(LEASE, 1)).toMatchObject({ kind: 'FAILED', error: 'no', retryable: false });
  });

  // Errors of Go have no type that says anything.
  if (language === 'python')
    test('names the type of an exception that nobody expected', async () => {
      const { server, session } = await connect();
      server.assign(session, LEASE, [{ handler: 'count', payload: { to: 'many' } }]);
      expect(await server.ended(LEASE)).toMatchObject({
        kind: 'FAILED',
        error: expect.stringMatching(/^ValueError: invalid literal/),
      });
    });

  test('does not start a run whose cancel came before it', async () => {
    const { server, session } = await connect();
    session.send({ cancels: [{ runId: runIdOf(LEASE, 0) }] });
    server.assign(session, NEXT, [{ handler: 'echo' }]);
    await server.ended(NEXT);
    server.assign(session, LEASE, [{ handler: 'echo', payload: { text: 'started' } }]);
    expect(await server.ended(LEASE)).toMatchObject({
      kind: 'CANCELLED',
      error: 'cancelled before it started',
    });
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe('');
  });

  test('does not start a run that shares a frame with its cancel', async () => {
    const { server, session } = await connect();
    server.assign(session, LEASE, [{ handler: 'echo', payload: { text: 'started' } }], {
      cancels: [{ runId: runIdOf(LEASE, 0) }],
    });
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'CANCELLED' });
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe('');
  });

  test('keeps a result of up to 64 KiB, and a note in place of a larger one', async () => {
    const { server, session } = await connect();
    const sized = (bytes: number) => ({ text: 'x'.repeat(bytes - JSON.stringify({ text: '' }).length) });
    server.assign(session, LEASE, [
      { handler: 'echo', payload: sized(64_000) },
      { handler: 'echo', payload: sized(65_537) },
    ]);
    expect(await server.ended(LEASE, 0)).toMatchObject({ kind: 'SUCCESS', result: sized(64_000) });
    expect(await server.ended(LEASE, 1)).toMatchObject({
      kind: 'SUCCESS',
      result: { note: expect.stringContaining('larger than') },
    });
  });

  test('goes on when it is told what it does not know', async () => {
    const { server, session } = await connect({ isNewer: true });
    server.assign(session, LEASE, [{ handler: 'count', payload: { to: 2, step_ms: 100 } }]);
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'SUCCESS' });
    const beats = () => session.received.filter(({ beat }) => beat !== undefined);
    const told = beats().length;
    // Its end was answered with a verdict that it does not know: it is an answer.
    await eventually(() => expect(beats().length).toBeGreaterThan(told + 2), LIMIT);
    expect(beats().at(-1)?.beat?.heldLeases).toEqual([]);
    expect(server.endsOf(LEASE)).toHaveLength(1);
    expect(server.sessions).toHaveLength(1);
  });

  test('gives back what it does not offer, and what is more than its slots', async () => {
    const { server, session } = await connect({}, { slots: 2 });
    server.assign(session, LEASE, [LONG, LONG, { handler: 'unknown' }, LONG]);
    expect(await server.ended(LEASE, 2)).toMatchObject({
      kind: 'RETURNED',
      error: 'this worker does not offer the handler "unknown"',
    });
    expect(await server.ended(LEASE, 3)).toMatchObject({
      kind: 'RETURNED',
      error: 'every slot of the worker is in use',
    });
    expect([server.endsOf(LEASE, 0), server.endsOf(LEASE, 1)]).toEqual([[], []]);
  });

  test('calls the handler once when it is assigned the same run twice', async () => {
    const { server, session } = await connect();
    for (let i = 0; i < 2; i += 1)
      server.assign(session, LEASE, [{ handler: 'echo', payload: { text: 'x' } }]);
    server.assign(session, NEXT, [{ handler: 'echo' }]);
    await server.ended(LEASE);
    await server.ended(NEXT);
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe('x\n');
    expect(server.endsOf(LEASE)).toHaveLength(1);
  });

  test('stops a cancelled run, shows it before as running, and frees its slot', async () => {
    const { server, session } = await connect({}, { slots: 1 });
    server.assign(session, LEASE, [LONG]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    session.send({ cancels: [{ runId: 'of-somebody-else' }, { runId: runIdOf(LEASE, 0) }] });
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'CANCELLED' });
    await eventually(() => expect(session.received.at(-1)?.slotsFreed).toBe(1n), LIMIT);
  });

  test('ends what runs longer than its time limit as TIMED_OUT', async () => {
    const { server, session } = await connect();
    server.assign(session, LEASE, [{ ...LONG, timeoutMs: 300 }]);
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'TIMED_OUT', error: 'ran longer than 0.3 s' });
  });

  test('goes on from a checkpoint, saves its own, and tells progress', async () => {
    const { server, session } = await connect();
    server.assign(session, LEASE, [{ handler: 'count', payload: { to: 4, step_ms: 1 }, checkpoint: '2' }]);
    expect(await server.ended(LEASE)).toMatchObject({
      kind: 'SUCCESS',
      result: { counted: 4, started_at: 2 },
    });
    expect(server.checkpoints.map(({ value }) => value)).toEqual([3, 4]);
    const told = session.received.flatMap(({ progress }) => progress);
    expect(told.at(-1)?.percent).toBe(100);
  });

  test('fails a run whose checkpoint is not kept', async () => {
    const { server, session } = await connect({ checkpointError: 'the epoch is stale' });
    server.assign(session, LEASE, [{ handler: 'count', payload: { to: 4, step_ms: 1 } }]);
    expect(await server.ended(LEASE)).toMatchObject({
      kind: 'FAILED',
      error: expect.stringMatching(/^(the checkpoint was not kept: )?the epoch is stale$/),
    });
  });

  test('leaves no process behind when it is killed', async () => {
    const { server, session, worker } = await connect();
    server.assign(session, LEASE, [LONG, LONG]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(2), LIMIT);
    const tree = await worker.tree();
    worker.signal('SIGKILL');
    await gone(tree);
  });

  test('masks secrets in output, also over two writes, in results and in errors', async () => {
    const { server, session } = await connect({ outputWindow: 5 });
    const secrets = ['first line\nof a secret', 'pass"word'];
    server.assign(session, LEASE, [
      { handler: 'echo', payload: { text: `a ${secrets[0]} and ${secrets[1]}, end` }, secrets },
      { handler: 'fail', payload: { message: `not with ${secrets[1]}` }, secrets },
    ]);
    expect(await server.ended(LEASE, 0)).toMatchObject({ result: { text: 'a *** and ***, end' } });
    expect(await server.ended(LEASE, 1)).toMatchObject({ error: 'not with ***' });
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe('a *** and ***, end\n');
  });

  test('sends no more output than the window allows, and loses none', async () => {
    const { server, session } = await connect({ outputWindow: 100 });
    const text = 'x'.repeat(5_000);
    server.assign(session, LEASE, [{ handler: 'echo', payload: { text } }]);
    await server.ended(LEASE);
    expect(server.textOf(LEASE, 0, STDOUT!)).toBe(`${text}\n`);
    expect(server.outputAheadMax).toBeLessThanOrEqual(100);
  });

  test('calls the handler of each of 1,000 runs once, and tells each end once', async () => {
    const { server, session } = await connect({}, { slots: 8 });
    const runs = 1_000;
    let assigned = 0;
    await eventually(() => {
      const freed = Number(session.received.at(-1)?.slotsFreed ?? 0n);
      while (assigned < runs && assigned - freed < 8) {
        server.assign(session, `${LEASE}-${assigned}`, [
          { handler: 'echo', payload: { text: String(assigned) } },
        ]);
        assigned += 1;
      }
      expect(freed).toBe(runs);
    }, MANY);
    for (let i = 0; i < runs; i += 1) {
      await server.ended(`${LEASE}-${i}`);
      expect(server.endsOf(`${LEASE}-${i}`)).toMatchObject([
        { kind: 'SUCCESS', result: { text: String(i) } },
      ]);
    }
    const written = server.outputs.filter(({ stream }) => stream === STDOUT).map(({ bytes }) => bytes);
    const lines = Buffer.concat(written).toString().trimEnd().split('\n').map(Number);
    expect(lines.toSorted((a, b) => a - b)).toEqual(Array.from({ length: runs }, (_, i) => i));
  });
});
