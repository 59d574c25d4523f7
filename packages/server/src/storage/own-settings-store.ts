/** What people keep for themselves: views and preferences. They go with their user. */
import type { Preferences, SavedView } from '@carillon/domain';

export interface OwnSettingsStore {
  /** All of a user, by screen and name. */
  views(userId: string): Promise<SavedView[]>;
  /**
   * Makes it, or replaces the one of this user with the same id. `full`: the user has `viewsMax` others, whatever others do at the
   * same instant. `name_taken`: another view of the screen has the name. `no_user`: there is none.
   */
  putView(
    userId: string,
    view: SavedView,
    limits: { readonly viewsMax: number },
  ): Promise<'put' | 'full' | 'name_taken' | 'no_user'>;
  removeView(userId: string, viewId: string): Promise<boolean>;
  preferences(userId: string): Promise<Preferences>;
  /** Replaces them. False: there is no such user. */
  putPreferences(userId: string, preferences: Preferences): Promise<boolean>;
}
