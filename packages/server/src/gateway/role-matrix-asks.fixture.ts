/** What the role matrix asks for, and what must be there first. */
import { HERE, type Scene } from './role-matrix.fixture.ts';

export const job =
  (suffix = '') =>
  (scene: Scene) => ({ url: `/jobs/${scene.jobId}${suffix}` });
export const at = (url: string, payload?: object) => () => ({ url, ...(payload && { payload }) });

export const aKey = async ({ fixture }: Scene) => {
  const grant = { namespace: HERE.namespace, role: 'viewer', ownOnly: false } as const;
  const { key } = await fixture.operations.createKey({ name: 'a key', grants: [grant] });
  return { url: `/keys/${key.keyId}` };
};
export const aSecret =
  (payload?: object) =>
  async ({ fixture }: Scene) => {
    const { namespace } = HERE;
    await fixture.operations.setSecret({ namespace, name: 'token' }, 'a value');
    return { url: `/secrets/token?namespace=${namespace}`, ...(payload && { payload }) };
  };
export const aUser =
  (suffix = '', payload?: object) =>
  async ({ fixture }: Scene) => {
    const { userId } = await fixture.operations.createUser({
      ...{ name: 'ula', displayName: 'Ula', password: 'correct horse battery', grants: [] },
    });
    return { url: `/users/${userId}${suffix}`, ...(payload && { payload }) };
  };

export const aHandler = async ({ fixture }: Scene) => {
  await fixture.handlers.recordSchemas([
    { name: 'report', description: undefined, parameters: undefined, origin: 'program' },
  ]);
  return { url: '/handlers/report' };
};

export const VIEW_ID = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

/** The persons of the matrix are users, each with a view under VIEW_ID. */
export const byPersons =
  (asked: { readonly url: string; readonly payload?: object }) =>
  async ({ fixture: { storage } }: Scene) => {
    const view = { viewId: VIEW_ID, screen: 'jobs', name: 'Paused', query: {}, updatedAtMs: 1 } as const;
    for (const userId of ['ann', 'bob']) {
      await storage.accounts.createUser({
        ...{ userId, name: userId, displayName: '', disabled: false, passwordHash: undefined, grants: [] },
        ...{ createdAtMs: 1, updatedAtMs: 1 },
      });
      await storage.ownSettings.putView(userId, view, { viewsMax: 1 });
    }
    return asked;
  };
