/**
 * Views and preferences: everybody's own, and nobody else's. A caller who is no user (the admin key, a key of the installation or one
 * that has less than the rights of its user) has none: reading answers nothing, keeping is refused with the reason.
 */
import {
  type Caller,
  type Preferences,
  personBehind,
  Refusal,
  type SavedView,
  VIEWS_MAX,
} from '@carillon/domain';
import type { OperationPorts } from './operation-ports.ts';

function requirePerson(caller: Caller): string {
  return personBehind(caller) ?? refuseNobody();
}

function refuseNobody(): never {
  throw new Refusal(
    'settings_of_nobody',
    'Views and preferences belong to a user, and the caller is none, or came with a key that has less than their rights.',
  );
}

export function ownSettingsOperations({ storage: { ownSettings }, clock }: OperationPorts) {
  return {
    async listViews(caller: Caller): Promise<SavedView[]> {
      const userId = personBehind(caller);
      return userId === undefined ? [] : await ownSettings.views(userId);
    },

    async putView(caller: Caller, given: Omit<SavedView, 'updatedAtMs'>): Promise<SavedView> {
      const view = { ...given, updatedAtMs: clock.now() };
      const put = await ownSettings.putView(requirePerson(caller), view, { viewsMax: VIEWS_MAX });
      if (put === 'no_user') return refuseNobody();
      if (put === 'full')
        throw new Refusal('views_full', `You have ${VIEWS_MAX} views, and there can be no more.`);
      if (put === 'name_taken') {
        const message = `Another view of the ${view.screen} is called "${view.name}".`;
        throw new Refusal('view_name_taken', message, { field: 'name' });
      }
      return view;
    },

    async removeView(caller: Caller, viewId: string): Promise<void> {
      const removed = await ownSettings.removeView(requirePerson(caller), viewId);
      if (!removed) throw new Refusal('view_not_found', `You have no view ${viewId}.`);
    },

    async getPreferences(caller: Caller): Promise<Preferences> {
      const userId = personBehind(caller);
      return userId === undefined ? {} : await ownSettings.preferences(userId);
    },

    async putPreferences(caller: Caller, preferences: Preferences): Promise<Preferences> {
      const kept = await ownSettings.putPreferences(requirePerson(caller), preferences);
      return kept ? preferences : refuseNobody();
    },
  };
}
