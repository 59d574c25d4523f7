/** The promises of HandlerStore: what workers say of their handlers, who is believed, and what is forgotten. */
import type { HandlerDescription, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { BOUND_SCHEMAS_MAX, type BoundSchema } from '../handler-store.ts';
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

    describe('what workers of some namespaces say', () => {
      const bound = (namespace: string, name = 'resize', parameters = '{}') => ({
        namespace,
        name,
        parameters,
      });
      const recordBound = (schemas: BoundSchema[], nowMs = BASE_MS, forgetBeforeMs = 0) =>
        store().recordBound(schemas, { nowMs, forgetBeforeMs });

      it('counts for these namespaces alone, and for nobody else’s list', async () => {
        await stage.world.house({ namespace: 'media' });
        await recordBound([bound('media'), bound('media', 'cut', '{"a":1}'), bound('nowhere')]);
        await recordBound([bound('media', 'resize', '{"b":1}'), bound('media', 'resize', '{"b":2}')]);
        const asked = [bound('media'), bound('media', 'cut'), bound('default'), bound('nowhere')];
        expect(new Set(await store().boundSchemas(asked))).toEqual(
          new Set([bound('media', 'resize', '{"b":2}'), bound('media', 'cut', '{"a":1}')]),
        );
        expect(await store().boundSchemas([])).toEqual([]);
        expect(await store().handlerNames({ limit: 100 })).toEqual([]);
        expect(await store().describeHandlers(['resize'])).toEqual([]);
      });

      it('goes with its namespace', async () => {
        await stage.world.house({ namespace: 'media' });
        await recordBound([bound('media')]);
        await stage.world.storage.accounts.removeNamespace('media');
        expect(await store().boundSchemas([bound('media')])).toEqual([]);
      });

      it('is forgotten after a while in which nobody offered it, and where a namespace has too much of it', async () => {
        await recordBound([bound('default', 'gone')]);
        await recordBound([], BASE_MS + MINUTE_MS, BASE_MS + 1);
        expect(await store().boundSchemas([bound('default', 'gone')])).toEqual([]);
        await recordBound([bound('default', 'old')]);
        const many = Array.from({ length: BOUND_SCHEMAS_MAX }, (_, i) => bound('default', `handler-${i}`));
        await recordBound(many, BASE_MS + 1);
        expect(await store().boundSchemas([bound('default', 'old'), ...many])).toHaveLength(many.length);
      });
    });

    it('workers that start at the same moment are all recorded', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `handler-${index}`);
      const forwards = names.map((name) => sample({ name }));
      await Promise.all([record(forwards), record(forwards.toReversed()), record(forwards)]);
      expect(await store().handlerNames({ limit: 100 })).toHaveLength(50);
    });
  });
}
