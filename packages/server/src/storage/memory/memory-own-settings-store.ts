/** What people keep for themselves, in memory. */
import type { Preferences, SavedView } from '@carillon/domain';
import type { AccountStore } from '../account-store.ts';
import type { OwnSettingsStore } from '../own-settings-store.ts';

interface Kept {
  readonly views: Map<string, SavedView>;
  preferences: Preferences;
}

const order = ({ screen, name }: SavedView) => `${screen} ${name}`;

export class MemoryOwnSettingsStore implements OwnSettingsStore {
  readonly #users: Pick<AccountStore, 'user'>;
  readonly #kept = new Map<string, Kept>();

  constructor(users: Pick<AccountStore, 'user'>) {
    this.#users = users;
  }

  async views(userId: string): Promise<SavedView[]> {
    const views = [...((await this.#of(userId))?.views.values() ?? [])];
    return views.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  async putView(
    userId: string,
    view: SavedView,
    { viewsMax }: { viewsMax: number },
  ): ReturnType<OwnSettingsStore['putView']> {
    const kept = await this.#of(userId);
    if (!kept) return 'no_user';
    const others = [...kept.views.values()].filter(({ viewId }) => viewId !== view.viewId);
    if (others.some((other) => other.screen === view.screen && other.name === view.name)) return 'name_taken';
    if (others.length >= viewsMax && !kept.views.has(view.viewId)) return 'full';
    kept.views.set(view.viewId, view);
    return 'put';
  }

  async removeView(userId: string, viewId: string): Promise<boolean> {
    return (await this.#of(userId))?.views.delete(viewId) ?? false;
  }

  async preferences(userId: string): Promise<Preferences> {
    return (await this.#of(userId))?.preferences ?? {};
  }

  async putPreferences(userId: string, preferences: Preferences): Promise<boolean> {
    const kept = await this.#of(userId);
    if (kept) kept.preferences = preferences;
    return kept !== undefined;
  }

  /** What is kept goes with the user. */
  async #of(userId: string): Promise<Kept | undefined> {
    if ((await this.#users.user(userId)) === undefined) {
      this.#kept.delete(userId);
      return undefined;
    }
    const kept = this.#kept.get(userId) ?? { views: new Map(), preferences: {} };
    this.#kept.set(userId, kept);
    return kept;
  }
}
