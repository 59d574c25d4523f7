/** What the workers do with a handler that does not stop, and with one whose work is done when it hears that it was cancelled. */
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { describeWorkers, LEASE, LIMIT, NEXT } from './describe-workers.ts';
import { findVisitingWorkers } from './find-workers.ts';
import { runIdOf } from './scripted-server.ts';

/** Longer than any worker waits for a handler that was told to stop. */
const DEAF_MS = 12_000;
const environment = { VISITOR: 'deaf' };

await describeWorkers(({ language, connect }) => {
  test('keeps the slot of a handler that does not stop, and tells of it in its beats', async () => {
    const { server, session } = await connect({}, { slots: 1, environment });
    const beats = () => session.received.flatMap(({ beat }) => (beat ? [beat.stuck] : []));
    const freed = () => Math.max(0, ...session.received.map((message) => Number(message.slotsFreed)));
    server.assign(session, LEASE, [{ handler: 'deaf', payload: { ms: DEAF_MS } }]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    session.send({ cancels: [{ runId: runIdOf(LEASE, 0) }] });
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'CANCELLED' });
    // A run in Python has a process of its own, which is killed: none is ever left.
    if (language !== 'python') {
      await eventually(() => expect(beats()).toContain(1), LIMIT);
      expect(freed()).toBe(0);
      server.assign(session, NEXT, [{ handler: 'echo' }]);
      expect(await server.ended(NEXT)).toMatchObject({
        kind: 'RETURNED',
        error: 'every slot of the worker is in use',
      });
    }
    await eventually(() => expect(freed()).toBe(language === 'python' ? 1 : 2), LIMIT);
    const told = beats().length;
    await eventually(() => expect(beats().length).toBeGreaterThan(told + 1), LIMIT);
    expect(beats().at(-1)).toBe(0);
  });

  test('ends a cancelled run as CANCELLED even if its work was done', async () => {
    const { server, session } = await connect({}, { environment });
    server.assign(session, LEASE, [{ handler: 'deaf', payload: { ms: 900 } }]);
    await eventually(() => expect(session.received.flatMap(({ started }) => started)).toHaveLength(1), LIMIT);
    session.send({ cancels: [{ runId: runIdOf(LEASE, 0) }] });
    expect(await server.ended(LEASE)).toMatchObject({ kind: 'CANCELLED' });
  });
}, findVisitingWorkers());
