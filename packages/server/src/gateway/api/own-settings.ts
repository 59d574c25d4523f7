/**
 * What people keep for themselves on the dashboard. Exceptions: programs that speak RPC have no screens, so that no call is bound
 * to these.
 */
import {
  ACCOUNT_EXAMPLES,
  PREFERENCES_BODY,
  preferencesAnswer,
  preferencesView,
  toPreferences,
  VIEW_BODY,
  viewAnswer,
  viewView,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, type Operation, reading, restOperation } from './operation.ts';

const aboutView = { subject: 'view', subjectIs: 'The view_id: a UUID that you choose.' } as const;
const common = { tag: 'own settings', access: 'self', restOnly: 'settings of the page' } as const;

export function ownSettingsOperations({ operations }: ApiContext): Operation[] {
  return [
    restOperation({
      ...common,
      method: 'GET',
      path: '/me/views',
      summary: 'List your views',
      description:
        'The filters and orders of lists that you saved under names: by screen and name, all of them. A caller who is no user has none.',
      answers: {
        200: { description: 'Your views.', schema: z.array(viewAnswer), example: [ACCOUNT_EXAMPLES.view] },
      },
      handle: async ({ caller }) => ({ body: (await operations.listViews(caller)).map(viewView) }),
    }),

    restOperation({
      ...common,
      ...aboutView,
      method: 'PUT',
      path: '/me/views/{id}',
      summary: 'Save a view',
      description: 'Makes it under an id that you choose, or replaces the one that you have under it.',
      body: reading(VIEW_BODY),
      bodyExamples: { paused: ACCOUNT_EXAMPLES.viewBody },
      answers: {
        200: { description: 'Saved.', schema: viewAnswer, example: ACCOUNT_EXAMPLES.view },
      },
      handle: async ({ caller, id: viewId, body }) => ({
        body: viewView(await operations.putView(caller, { ...body, viewId })),
      }),
    }),

    restOperation({
      ...common,
      ...aboutView,
      method: 'DELETE',
      path: '/me/views/{id}',
      summary: 'Delete a view',
      answers: { 204: { description: 'Deleted.' } },
      handle: async ({ caller, id }) => {
        await operations.removeView(caller, id);
        return { status: 204 };
      },
    }),

    restOperation({
      ...common,
      method: 'GET',
      path: '/me/preferences',
      summary: 'Read your preferences',
      description: 'What you chose on the dashboard, the same in every browser. null: never chosen.',
      answers: {
        200: {
          ...{ description: 'Your preferences.', schema: preferencesAnswer },
          example: ACCOUNT_EXAMPLES.preferences,
        },
      },
      handle: async ({ caller }) => ({ body: preferencesView(await operations.getPreferences(caller)) }),
    }),

    restOperation({
      ...common,
      method: 'PUT',
      path: '/me/preferences',
      summary: 'Replace your preferences',
      body: reading(PREFERENCES_BODY, toPreferences),
      bodyExamples: { paris: ACCOUNT_EXAMPLES.preferences },
      answers: {
        200: {
          ...{ description: 'Your preferences.', schema: preferencesAnswer },
          example: ACCOUNT_EXAMPLES.preferences,
        },
      },
      handle: async ({ caller, body }) => ({
        body: preferencesView(await operations.putPreferences(caller, body)),
      }),
    }),
  ];
}
