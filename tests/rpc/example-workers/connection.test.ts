/**
 * The rules of workers.proto about connections, for every worker as in protocol.test.ts: also what no real server does, such as falling silent
 * while its connections stay open.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { CuttableProxy } from './cuttable-proxy.ts';
import { describeWorkers, LEASE, LIMIT, LONG, NEXT, serve, stopEarly } from './describe-workers.ts';

const NO_DISPATCHER = new ConnectError('This server has not the role dispatcher', Code.Unavailable);
/** As servers before this answer said it, and whatever else answers at an address. */
const UNKNOWN_CALL = new ConnectError('There is no such call', Code.Unimplemented);
const KEY_REFUSED = new ConnectError('The key is not valid here', Code.Unauthenticated);

await describeWorkers(({ language, launch, connect }) => {
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

  test('keeps its id and its runs while the network is cut for longer than some dials', async () => {
    const server = await serve();
    const proxy = await new CuttableProxy(Number(server.address.split(':')[1])).start();
    onTestFinished(() => proxy.stop());
    launch(server, { servers: [proxy.address] });
    const session = await server.session();
    const work = { handler: 'count', payload: { to: 12, step_ms: 500 } };
    server.assign(session, LEASE, [work]);
    await eventually(() => expect(server.checkpoints).not.toEqual([]), LIMIT);
    proxy.cut();
    await eventually(() => expect(proxy.refused).toBeGreaterThan(2), LIMIT);
    proxy.mend();
    expect((await server.session(2)).hello).toMatchObject({
      ...{ workerId: session.hello?.workerId, heldRuns: [{ leaseId: LEASE, positions: [0] }] },
    });
    expect(await server.ended(LEASE)).toMatchObject({
      kind: 'SUCCESS',
      result: { counted: 12, started_at: 0 },
    });
  });

  test('does not soon ask a server again that has welcomed it before and refuses its key now', async () => {
    const [home, other] = [await serve(), await serve({ refusal: NO_DISPATCHER })];
    launch(home, { servers: [home.address, other.address] });
    const session = await home.session();
    // It beats once it has read the welcome.
    await eventually(() => expect(session.received.some(({ beat }) => beat)).toBe(true), LIMIT);
    home.script.refusal = KEY_REFUSED;
    home.cut();
    await eventually(() => expect(home.refused).toBe(2), LIMIT);
    // In the 30 s between, it asks the other at least every 5 s; by turns it would have asked it once or twice.
    expect(other.refused).toBeGreaterThan(3);
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
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    await stopEarly(first);
    expect((await second.session()).hello).toMatchObject({ heldRuns: [{ leaseId: LEASE }], executing: 1 });
  });

  test.each([
    ['has not the role dispatcher', NO_DISPATCHER],
    ['does not know workers', UNKNOWN_CALL],
    ['refuses its key', KEY_REFUSED],
  ])('goes on with the next address when a server %s', async (_, refusal) => {
    const [first, second] = [await serve({ refusal }), await serve()];
    launch(first, { servers: [first.address, second.address] });
    await second.session();
    expect(first.refused).toBe(1);
  });

  test.each([
    ['has not the role dispatcher', NO_DISPATCHER],
    ['does not know workers', UNKNOWN_CALL],
  ])('keeps its runs when its server is gone and the next one %s', async (_, refusal) => {
    // Shorter than the pause before a server is asked again that refuses the worker for good.
    const home = await serve({ trustMs: 25_000 });
    const other = await serve({ refusal });
    launch(home, { servers: [home.address, other.address] });
    const session = await home.session();
    home.assign(session, LEASE, [LONG]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    home.cut();
    expect((await home.session(2)).hello).toMatchObject({
      heldRuns: [{ leaseId: LEASE }],
      executing: 1,
    });
    expect(other.refused).toBe(1);
    expect(home.endsOf(LEASE)).toEqual([]);
  });

  test('ends with the reasons when every address refuses it', async () => {
    const [first, second] = [await serve({ refusal: UNKNOWN_CALL }), await serve({ refusal: KEY_REFUSED })];
    const worker = launch(first, { servers: [first.address, second.address] });
    expect(await worker.exited).toBe(1);
    expect([first.refused, second.refused]).toEqual([1, 1]);
    const output = await worker.output();
    for (const { rawMessage } of [UNKNOWN_CALL, KEY_REFUSED])
      expect(output).toMatch(new RegExp(`refuses this worker: .*${rawMessage}`));
  });

  test('goes on dialling a server that has not the role dispatcher: a load balancer may lead to another', async () => {
    const server = await serve({ refusal: NO_DISPATCHER });
    const worker = launch(server);
    await eventually(() => expect(server.refused).toBeGreaterThan(3), LIMIT);
    server.script.refusal = undefined;
    await server.session();
    // That of TypeScript leaves it to its log.
    if (language === 'typescript') return;
    const lines = (await worker.output()).split('\n');
    expect(lines.filter((line) => line.includes(NO_DISPATCHER.rawMessage))).toHaveLength(1);
  });

  test('stops a run that is not its own any more, and claims no end of it', async () => {
    const { server, session } = await connect({}, { slots: 1 });
    server.assign(session, LEASE, [LONG]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    server.script.unknownLeases.push(LEASE);
    // Its slot is free when the process is gone.
    await eventually(() => expect(session.received.at(-1)?.slotsFreed).toBe(1n), LIMIT);
    const beats = session.received.filter(({ beat }) => beat).length;
    await eventually(
      () => expect(session.received.filter(({ beat }) => beat).length).toBeGreaterThan(beats + 2),
      LIMIT,
    );
    expect(server.endsOf(LEASE)).toEqual([]);
    expect(session.received.findLast(({ beat }) => beat)?.beat?.heldLeases).toEqual([]);
  });

  test('stops everything by itself when its beats have no answer, and starts nothing before the next', async () => {
    const { server, session } = await connect({ trustMs: 2_500 });
    server.assign(session, LEASE, [LONG]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    server.script.isMute = true;
    if (language === 'typescript') {
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
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    server.script.buries = true;
    const again = await server.session(2);
    expect(again.hello?.session).toBe(1);
    expect(again.hello?.heldRuns).toEqual([]);
    expect(again.hello?.workerId).not.toBe(session.hello?.workerId);
    server.assign(again, NEXT, [{ handler: 'echo' }]);
    await server.ended(NEXT);
    expect(server.endsOf(LEASE)).toEqual([]);
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
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    worker.signal('SIGTERM');
    expect(await worker.exited).toBe(0);
    expect(server.endsOf(LEASE)).toMatchObject([{ kind: 'RETURNED' }]);
  });

  test('ends when it is too old for the server', async () => {
    const reason = 'this server speaks protocol 2 with workers, and the worker knows 1';
    const server = await serve({ goodbye: { reason, dialAgain: false } });
    const worker = launch(server);
    expect(await worker.exited).toBe(1);
    expect(await worker.output()).toContain(reason);
    expect(server.sessions).toHaveLength(1);
  });

  test('ends when it is told to speak a protocol that it does not know', async () => {
    const server = await serve({ protocol: 2 });
    const worker = launch(server);
    expect(await worker.exited).toBe(1);
    expect(await worker.output()).toContain(
      'the server speaks protocol 2, and this worker knows 1; use a newer version of its library',
    );
  });

  test('ends when the server says that dialling again does not help', async () => {
    const { session, worker } = await connect();
    session.send({ goodbye: { reason: 'this id is in use', dialAgain: false } });
    expect(await worker.exited).toBe(1);
    expect(await worker.output()).toContain('this id is in use');
  });
});
