/** The promises of OwnSettingsStore: views and preferences of one user, bounded, and gone with the user. */
import type { SavedView } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeOwnSettingsStore(makeStorage: MakeStorage): void {
  describe('own settings store', () => {
    const stage = useStorageWorld(makeStorage);
    const store = () => stage.world.storage.ownSettings;
    const somebody = async (name: string) => {
      const userId = newId();
      await stage.world.storage.accounts.createUser({
        ...{ userId, name, displayName: '', disabled: false, grants: [] },
        ...{ createdAtMs: BASE_MS, updatedAtMs: BASE_MS, passwordHash: undefined },
      });
      return userId;
    };
    const sample = (over: Partial<SavedView> = {}): SavedView => ({
      ...{
        viewId: newId(),
        screen: 'jobs',
        name: 'Paused',
        query: { status: 'PAUSED' },
        updatedAtMs: BASE_MS,
      },
      ...over,
    });
    const put = (userId: string, view: SavedView, viewsMax = 5) =>
      store().putView(userId, view, { viewsMax });

    it('views are listed by screen and name, replaced by their id, and only those of their user', async () => {
      const [ada, bob] = [await somebody('ada'), await somebody('bob')];
      const [paused, failed, runs] = [
        sample(),
        sample({ name: 'Failed' }),
        sample({ screen: 'runs', name: 'Failed', query: {} }),
      ];
      for (const view of [runs, paused, failed]) expect(await put(ada, view)).toBe('put');
      expect(await store().views(ada)).toEqual([failed, paused, runs]);
      expect(await store().views(bob)).toEqual([]);
      const renamed = { ...paused, name: 'A first', updatedAtMs: BASE_MS + 1 };
      expect(await put(ada, renamed)).toBe('put');
      expect(await store().views(ada)).toEqual([renamed, failed, runs]);
      // The same id of somebody else is another view.
      expect(await put(bob, paused)).toBe('put');
      expect(await store().removeView(bob, paused.viewId)).toBe(true);
      expect(await store().removeView(bob, paused.viewId)).toBe(false);
      expect(await store().views(ada)).toEqual([renamed, failed, runs]);
    });

    it('a name is there once per screen', async () => {
      const ada = await somebody('ada');
      const first = sample();
      await put(ada, first);
      expect(await put(ada, sample())).toBe('name_taken');
      expect(await put(ada, first)).toBe('put');
      expect(await put(ada, sample({ screen: 'runs' }))).toBe('put');
    });

    it('there are never more than are allowed; those that are there can be replaced', async () => {
      const ada = await somebody('ada');
      const puts = await Promise.all(['a', 'b', 'c'].map((name) => put(ada, sample({ name }), 2)));
      expect(puts.sort()).toEqual(['full', 'put', 'put']);
      const [first] = await store().views(ada);
      expect(await put(ada, { ...first!, name: 'z' }, 2)).toBe('put');
    });

    it('preferences are replaced, and only those that were chosen are there', async () => {
      const ada = await somebody('ada');
      expect(await store().preferences(ada)).toEqual({});
      expect(await store().putPreferences(ada, { zone: 'UTC', scheme: 'dark' })).toBe(true);
      expect(await store().putPreferences(ada, { shortcuts: false })).toBe(true);
      expect(await store().preferences(ada)).toEqual({ shortcuts: false });
    });

    it('all of it goes with the user', async () => {
      const [ada, bob] = [await somebody('ada'), newId()];
      await put(ada, sample());
      await store().putPreferences(ada, { zone: 'UTC' });
      await stage.world.storage.accounts.removeUser(ada);
      for (const gone of [ada, bob]) {
        expect(await store().views(gone)).toEqual([]);
        expect(await store().preferences(gone)).toEqual({});
        expect(await put(gone, sample())).toBe('no_user');
        expect(await store().putPreferences(gone, {})).toBe(false);
      }
    });
  });
}
