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
