/**
 * The rules of workers.proto, for the worker of @carillon/worker and every example worker alike, against a server that plays its part as each case needs it: also what
 * no real server does, such as falling silent while its connections stay open.
 */
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { KEY, runIdOf, type Script, ScriptedServer } from './scripted-server.ts';
import { endWorkers, gone, WorkerProcess, type WorkerProcessOptions } from './worker-process.ts';

const LIMIT = { withinMs: 60_000 };
const [STDOUT, STDERR] = [0, 1];
const LEASE = '00000000-0000-4000-8000-000000000001';
const NEXT = '00000000-0000-4000-8000-000000000002';
const LONG = { handler: 'wait', payload: { ms: 600_000 } };

const servers: ScriptedServer[] = [];
afterEach(async () => {
  await endWorkers();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serve(script: Partial<Script> = {}): Promise<ScriptedServer> {
  const server = await new ScriptedServer(script).start();
  servers.push(server);
  return server;
}

describe.each(await findWorkers())('$language', (found) => {
  const suite = describe.skipIf(isLeftOut(found));
  suite(nameOf(found), () => {
    // Where nothing may be left out, the reason is told before anything is started for nothing.
    beforeAll(() => void programOf(found));

    /** That of TypeScript tells of runs that were taken from it, and servers keep that on record; the examples say nothing more. */
    const endsOfLost = found.language === 'typescript' ? ['RETURNED'] : [];

    const launch = (server: ScriptedServer, options: Partial<WorkerProcessOptions> = {}) =>
      new WorkerProcess({
        ...{ program: programOf(found), folder: makeTestFolder(), servers: [server.address], key: KEY },
        ...options,
      });
    const connect = async (script: Partial<Script> = {}, options: Partial<WorkerProcessOptions> = {}) => {
      const server = await serve(script);
      const worker = launch(server, options);
      return { server, worker, session: await server.session() };
    };

    test('says who it is and what it offers', async () => {
      const { session } = await connect({}, { slots: 3, name: 'ada', args: ['--label', 'gpu=a100'] });
      expect(session.hello).toMatchObject({
        ...{ protocol: 1, session: 1, name: 'ada', language: found.language, heldRuns: [], executing: 0 },
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
    if (found.language === 'python')
      test('names the type of an exception that nobody expected', async () => {
        const { server, session } = await connect();
        server.assign(session, LEASE, [{ handler: 'count', payload: { to: 'many' } }]);
        expect(await server.ended(LEASE)).toMatchObject({
          kind: 'FAILED',
          error: expect.stringMatching(/^ValueError: invalid literal/),
        });
      });

    test('gives back what it does not offer, and what is more than its slots', async () => {
      const { server, session } = await connect({}, { slots: 2 });
      server.assign(session, LEASE, [LONG, LONG, { handler: 'unknown' }, LONG]);
      expect(await server.ended(LEASE, 2)).toMatchObject({
        kind: 'RETURNED',
        error: 'this worker does not offer the handler "unknown"',
      });
      // That of TypeScript leaves it to the server to count its slots.
      if (found.language !== 'typescript')
        expect(await server.ended(LEASE, 3)).toMatchObject({ kind: 'RETURNED' });
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
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
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
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(2),
        LIMIT,
      );
      const tree = await worker.tree();
      worker.signal('SIGKILL');
      await gone(tree);
    });

    test('dials again when the stream is cut: same id, runs go on, ends without an answer are told again', async () => {
      const { server, session } = await connect({ keepsEndsOpen: true });
      const work = { handler: 'count', payload: { to: 3, step_ms: 700 } };
      server.assign(session, LEASE, [{ handler: 'echo' }, work]);
      await server.ended(LEASE, 0);
      await eventually(() => expect(server.checkpoints).not.toEqual([]), LIMIT);
      server.cut();
      const again = await server.session(2);
      expect(again.hello).toMatchObject({
        ...{ workerId: session.hello?.workerId, bootId: session.hello?.bootId, session: 2 },
      });
      const held = again.hello!.heldRuns.map(({ leaseId, positions }) => [leaseId, positions.toSorted()]);
      expect(held).toEqual([[LEASE, [0, 1]]]);
      expect(await server.ended(LEASE, 1)).toMatchObject({
        kind: 'SUCCESS',
        result: { counted: 3, started_at: 0 },
      });
      await eventually(() => expect(server.endsOf(LEASE, 0).length).toBeGreaterThan(1), LIMIT);
      expect(new Set(server.endsOf(LEASE, 0).map(({ kind }) => kind))).toEqual(new Set(['SUCCESS']));
    });

    test('names only those runs of a lease that it still has', async () => {
      const { server, session } = await connect();
      server.assign(session, LEASE, [{ handler: 'echo' }, LONG]);
      await server.ended(LEASE, 0);
      // What it is told after that it has read after that.
      server.assign(session, NEXT, [LONG]);
      await eventually(
        () =>
          expect(session.received.flatMap(({ started }) => started)).toContainEqual(
            expect.objectContaining({ leaseId: NEXT }),
          ),
        LIMIT,
      );
      server.cut();
      expect((await server.session(2)).hello?.heldRuns).toMatchObject([
        { leaseId: LEASE, positions: [1] },
        { leaseId: NEXT, positions: [0] },
      ]);
    });

    test('remembers under a new id that somebody asked it to drain, and that it is over', async () => {
      const { server } = await connect({ draining: true });
      server.script.buries = true;
      expect((await server.session(2)).hello?.askedToDrain).toBe(true);
      server.script.draining = false;
      const [, again] = server.sessions;
      // Beats alone are answered with it; other messages come at any time.
      const beats = () => again!.received.filter(({ beat }) => beat !== undefined).length;
      const answered = beats();
      await eventually(() => expect(beats()).toBeGreaterThan(answered), LIMIT);
      // What it is told after the answer to a beat it has read after that.
      server.assign(again!, LEASE, [{ handler: 'echo' }]);
      await server.ended(LEASE);
      server.script.buries = true;
      expect((await server.session(3)).hello?.askedToDrain).toBe(false);
    });

    test('goes on when an older stream of it says that dialling again does not help', async () => {
      const server = await serve({ isMute: true });
      const worker = launch(server);
      const older = await server.session();
      // Without an answer it dials again.
      server.script.isMute = false;
      const newer = await server.session(2);
      older.send({ goodbye: { reason: 'a later stream of this worker came', dialAgain: false } });
      server.assign(newer, LEASE, [{ handler: 'count', payload: { to: 3, step_ms: 300 } }]);
      expect(await server.ended(LEASE)).toMatchObject({ kind: 'SUCCESS' });
      expect(await worker.output()).not.toContain('a later stream');
      expect(newer.isOver).toBe(false);
    });

    test('tries the next address when a server is gone', async () => {
      const [first, second] = [await serve(), await serve()];
      launch(first, { servers: [first.address, second.address] });
      const session = await first.session();
      first.assign(session, LEASE, [LONG]);
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
      servers.splice(servers.indexOf(first), 1);
      await first.stop();
      expect((await second.session()).hello).toMatchObject({ heldRuns: [{ leaseId: LEASE }], executing: 1 });
    });

    test('stops a run that is not its own any more, and claims no end of it', async () => {
      const { server, session } = await connect({}, { slots: 1 });
      server.assign(session, LEASE, [LONG]);
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
      server.script.unknownLeases.push(LEASE);
      // Its slot is free when the process is gone.
      await eventually(() => expect(session.received.at(-1)?.slotsFreed).toBe(1n), LIMIT);
      const beats = session.received.filter(({ beat }) => beat).length;
      await eventually(
        () => expect(session.received.filter(({ beat }) => beat).length).toBeGreaterThan(beats + 2),
        LIMIT,
      );
      expect(server.endsOf(LEASE).map(({ kind }) => kind)).toEqual(endsOfLost);
      expect(session.received.findLast(({ beat }) => beat)?.beat?.heldLeases).toEqual([]);
    });

    test('stops everything by itself when its beats have no answer, and starts nothing before the next', async () => {
      const { server, session } = await connect({ trustMs: 2_500 });
      server.assign(session, LEASE, [LONG]);
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
      server.script.isMute = true;
      if (found.language === 'typescript') {
        // It tells ends to servers that have welcomed it: of a run of ten minutes, only because it has stopped it.
        const next = await server.session(2);
        server.assign(next, NEXT, [{ handler: 'echo' }]);
        await server.session(3);
        expect([server.endsOf(LEASE), server.endsOf(NEXT), server.outputs]).toEqual([[], [], []]);
        server.script.isMute = false;
        expect(await server.ended(LEASE)).toMatchObject({ kind: 'RETURNED' });
        return;
      }
      expect(await server.ended(LEASE)).toMatchObject({ kind: 'RETURNED' });
      server.assign(session, NEXT, [{ handler: 'echo' }]);
      const again = await server.session(2);
      expect(again.hello).toMatchObject({
        workerId: session.hello?.workerId,
        heldRuns: [{ leaseId: NEXT, positions: [0] }],
      });
      expect(server.outputs).toEqual([]);
      server.script.isMute = false;
      expect(await server.ended(NEXT)).toMatchObject({ kind: 'SUCCESS' });
    });

    test('has stopped everything after it stood still for too long', async () => {
      const trustMs = 5_000;
      const { server, session, worker } = await connect({ trustMs });
      server.assign(session, LEASE, [{ handler: 'count', payload: { to: 100_000, step_ms: 100 } }]);
      // The process of the run, where it has one, is there when the handler has said something.
      await eventually(() => expect(server.checkpoints).not.toEqual([]), LIMIT);
      const before = await worker.tree();
      worker.signal('SIGSTOP');
      // Longer than the trust and the grace, on any machine.
      await new Promise((resolve) => setTimeout(resolve, trustMs + 3_000));
      // A run with a process of its own is gone while the worker still stands still.
      if (before.length > 1)
        await eventually(async () => expect((await worker.tree()).length).toBeLessThan(before.length), LIMIT);
      worker.signal('SIGCONT');
      expect(await server.ended(LEASE)).toMatchObject({ kind: 'RETURNED' });
    });

    test('starts over under a new id when it was buried, and claims no end of its old runs', async () => {
      const { server, session } = await connect();
      server.assign(session, LEASE, [LONG]);
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
      server.script.buries = true;
      const again = await server.session(2);
      expect(again.hello?.session).toBe(1);
      if (endsOfLost.length === 0) expect(again.hello?.heldRuns).toEqual([]);
      expect(again.hello?.workerId).not.toBe(session.hello?.workerId);
      server.assign(again, NEXT, [{ handler: 'echo' }]);
      await server.ended(NEXT);
      const told = new Set(server.endsOf(LEASE).map(({ kind }) => kind));
      expect(endsOfLost).toEqual(expect.arrayContaining([...told]));
    });

    test('drains on SIGTERM: says that it takes nothing more, finishes what it runs, ends with 0', async () => {
      const { server, session, worker } = await connect({}, { args: ['--drain-seconds', '600'] });
      server.assign(session, LEASE, [{ handler: 'count', payload: { to: 3, step_ms: 300 } }]);
      await eventually(() => expect(server.checkpoints).not.toEqual([]), LIMIT);
      worker.signal('SIGTERM');
      await eventually(
        () => expect(session.received.some(({ capacity }) => capacity?.draining)).toBe(true),
        LIMIT,
      );
      server.assign(session, NEXT, [{ handler: 'echo' }]);
      expect(await worker.exited).toBe(0);
      expect(server.endsOf(LEASE)).toMatchObject([{ kind: 'SUCCESS' }]);
      // It was on its way when the worker said so.
      expect(server.endsOf(NEXT)).toMatchObject([{ kind: 'RETURNED' }]);
      expect(session.received.some(({ leave }) => leave)).toBe(true);
    });

    test('says last that it leaves, and starts nothing that comes after that', async () => {
      const { server, session, worker } = await connect({ ignoresLeave: true });
      // It beats once it has read the welcome: before, it is not connected, and has nobody to tell.
      await eventually(() => expect(session.received.some(({ beat }) => beat)).toBe(true), LIMIT);
      worker.signal('SIGTERM');
      await eventually(() => expect(session.received.some(({ leave }) => leave)).toBe(true), LIMIT);
      server.assign(session, LEASE, [{ handler: 'echo' }]);
      expect(await worker.exited).toBe(0);
      expect(server.endsOf(LEASE)).toEqual([]);
      expect(server.outputs).toEqual([]);
    });

    test('gives back what has not ended in time after SIGTERM, and ends with 0', async () => {
      const { server, session, worker } = await connect({}, { args: ['--drain-seconds', '0.1'] });
      server.assign(session, LEASE, [LONG]);
      await eventually(
        () => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1),
        LIMIT,
      );
      worker.signal('SIGTERM');
      expect(await worker.exited).toBe(0);
      expect(server.endsOf(LEASE)).toMatchObject([{ kind: 'RETURNED' }]);
    });

    test('ends when the server says that dialling again does not help', async () => {
      const { session, worker } = await connect();
      session.send({ goodbye: { reason: 'this id is in use', dialAgain: false } });
      expect(await worker.exited).toBe(1);
      expect(await worker.output()).toContain('this id is in use');
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

    test('tells each of many runs once', async () => {
      const { server, session } = await connect({}, { slots: 8 });
      const runs = 60;
      let assigned = 0;
      await eventually(() => {
        const freed = Number(session.received.at(-1)?.slotsFreed ?? 0n);
        while (assigned < runs && assigned - freed < 8) {
          server.assign(session, `${LEASE}-${assigned}`, [
            { handler: 'resize-image', payload: { width: assigned } },
          ]);
          assigned += 1;
        }
        expect(freed).toBe(runs);
      }, LIMIT);
      for (let i = 0; i < runs; i += 1) {
        await server.ended(`${LEASE}-${i}`);
        expect(server.endsOf(`${LEASE}-${i}`)).toMatchObject([{ kind: 'SUCCESS', result: { width: i } }]);
      }
    });
  });
});
