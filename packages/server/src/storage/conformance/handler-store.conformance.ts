/** The promises of HandlerStore: what workers say of their handlers, who is believed, and what is forgotten. */
import type { HandlerDescription, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeHandlerStore(makeStorage: MakeStorage): void {
  describe('handler store', () => {
    const stage = useStorageWorld(makeStorage);
    const store = () => stage.world.storage.handlers;
    const sample = (over: Partial<HandlerDescription> = {}): HandlerDescription => ({
      ...{
        name: 'resize',
        description: 'Resizes images.',
        parameters: '{"type":"object"}',
        origin: 'plugin',
      },
      ...over,
    });
    const record = (handlers: HandlerDescription[], nowMs = BASE_MS, forgetBeforeMs = 0) =>
      store().recordHandlers(handlers, { nowMs, forgetBeforeMs });

    it('handlers are described by those that offer them, and found by name', async () => {
      const bare = sample({ name: 'bare', description: undefined, parameters: undefined, origin: 'program' });
      await record([sample(), bare]);
      expect(await store().handlerNames({ limit: 100 })).toEqual(['bare', 'resize']);
      expect(await store().describeHandlers(['resize', 'nothing'])).toEqual([sample()]);
      expect(await store().describeHandlers(['bare'])).toEqual([bare]);
      expect(await store().describeHandlers([])).toEqual([]);
    });

    it('names are ordered by their bytes', async () => {
      await record(['b', 'B', 'a-b', 'a.b', 'aB'].map((name) => sample({ name })));
      expect(await store().handlerNames({ limit: 100 })).toEqual(['B', 'a-b', 'a.b', 'aB', 'b']);
      expect(await store().handlerNames({ after: 'a-b', limit: 2 })).toEqual(['a.b', 'aB']);
      expect(await store().handlerNames({ after: 'a', limit: 1 })).toEqual(['a-b']);
    });

    it('whoever says it last is right, also when it says less', async () => {
      await record([sample()]);
      const later = sample({ description: undefined, parameters: undefined, origin: 'worker' });
      await record([sample({ description: 'twice in one call' }), later]);
      expect(await store().describeHandlers(['resize'])).toEqual([later]);
    });

    it('a remote worker does not replace what a server says of its built-in handlers', async () => {
      const builtIn = sample({ name: 'http', origin: 'built_in' });
      await record([builtIn]);
      await record([sample({ name: 'http', origin: 'worker', description: 'a lie' }), sample()]);
      expect(await store().describeHandlers(['http'])).toEqual([builtIn]);
      expect(await store().handlerNames({ limit: 100 })).toEqual(['http', 'resize']);
      const newer = { ...builtIn, description: 'of a newer version' };
      await record([newer]);
      expect(await store().describeHandlers(['http'])).toEqual([newer]);
    });

    it('of what nobody offers, the oldest is forgotten', async () => {
      await record([sample({ name: 'offered' }), sample({ name: 'gone' })]);
      await record([sample({ name: 'recent' })], BASE_MS + MINUTE_MS);
      const { nodeId } = stage.world;
      await stage.world.storage.members.registerWorker(
        {
          workerId: 'w' as WorkerId,
          ...{
            nodeId,
            incarnation: 1,
            session: 0,
            bootId: stage.world.bootId,
            slots: 1,
            handlers: ['offered'],
          },
        },
        BASE_MS,
      );
      await record([], BASE_MS + 2 * MINUTE_MS, BASE_MS + MINUTE_MS);
      expect(await store().handlerNames({ limit: 100 })).toEqual(['offered', 'recent']);
    });

    it('workers that start at the same moment are all recorded', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `handler-${index}`);
      const forwards = names.map((name) => sample({ name }));
      await Promise.all([record(forwards), record(forwards.toReversed()), record(forwards)]);
      expect(await store().handlerNames({ limit: 100 })).toHaveLength(50);
    });
  });
}
