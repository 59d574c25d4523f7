/** Who may run code on the workers: a permission of its own, however a script would get into a job (hazard 36). */
import { type Action, type Caller, type JsonObject, Refusal, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

const as = (role: 'operator' | 'editor' | 'admin', scopes?: readonly Action[]): Caller => ({
  ...{ ...SERVER, kind: 'key', id: role, name: role },
  grants: [{ namespace: 'default', role, ownOnly: false }],
  scopes: scopes && new Set(scopes),
});
const EDITOR = as('editor');
const ADMIN = as('admin');
const SCRIPT = { name: 'script', payload: { script: 'echo', day: 'monday' } };
const RECURRING = { ...SCRIPT, interval: '1h' };

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof Refusal ? `${error.code}: ${error.message}` : String(error);
}
const NEEDS = /^forbidden: .*needs the permission scripts\.submit/;

describe('a script job', () => {
  test('is made by those who may submit scripts, and nobody else', async () => {
    const { everyones } = fixture;
    expect(await refusalOf(everyones.createJob(EDITOR, SCRIPT))).toMatch(NEEDS);
    expect(
      await refusalOf(
        everyones.createJob(EDITOR, { name: 'x', handler: 'script', payload: { code_location: '/a' } }),
      ),
    ).toMatch(NEEDS);
    expect(await refusalOf(everyones.createJob(as('admin', ['jobs.create']), SCRIPT))).toMatch(NEEDS);
    const [answer] = await everyones.createJobs(EDITOR, [SCRIPT]);
    expect(answer).toMatchObject({ code: 'forbidden' });
    expect(await refusalOf(everyones.createJob(ADMIN, SCRIPT))).toBe('undefined');
    expect(await refusalOf(everyones.createJob(as('admin', ['jobs.create', 'scripts.submit']), SCRIPT))).toBe(
      'undefined',
    );
  });

  test('is applied by those alone, in a dry run too', async () => {
    const { everyones } = fixture;
    const apply = (caller: Caller, dryRun = false) =>
      everyones.applyJob(caller, { key: 'nightly', input: RECURRING, dryRun });
    expect(await refusalOf(apply(EDITOR, true))).toMatch(NEEDS);
    expect(await refusalOf(apply(EDITOR))).toMatch(NEEDS);
    await apply(ADMIN);
    expect(await refusalOf(apply(EDITOR))).toBe('undefined');
  });

  test('is given another script, and another job made one, by those alone', async () => {
    const { everyones } = fixture;
    const { jobId } = await everyones.createJob(ADMIN, RECURRING);
    const change = (payload: JsonObject) => everyones.updateJob(EDITOR, jobId, { payload });
    expect(await refusalOf(change({ script: 'rm' }))).toMatch(NEEDS);
    expect(await refusalOf(everyones.updateJob(EDITOR, jobId, { name: 'renamed' }))).toBe('undefined');
    const { jobId: other } = await everyones.createJob(EDITOR, {
      name: 'x',
      handler: 'own',
      interval: '1h',
      payload: { script: 'rm', x: 1 },
    });
    expect(await refusalOf(everyones.updateJob(EDITOR, other, { handler: 'script' }))).toMatch(NEEDS);
    expect(await refusalOf(everyones.updateJob(ADMIN, other, { handler: 'script' }))).toBe('undefined');
  });

  test('gets an input from those alone; others run it as it is', async () => {
    const { everyones } = fixture;
    const { jobId } = await everyones.createJob(ADMIN, RECURRING);
    const operator = as('operator');
    expect(await refusalOf(everyones.runJobNow(operator, jobId, { input: { day: 'friday' } }))).toMatch(
      NEEDS,
    );
    expect(await refusalOf(everyones.runJobNow(operator, jobId, { input: { script: 'rm' } }))).toMatch(NEEDS);
    expect(await refusalOf(everyones.runJobNow(operator, jobId, {}))).toBe('undefined');
    expect(await refusalOf(everyones.runJobNow(ADMIN, jobId, { input: { day: 'friday' } }))).toBe(
      'undefined',
    );
    expect(await refusalOf(everyones.runJobNow(ADMIN, jobId, { input: { args: 'x' } }))).toContain(
      'payload.args',
    );
  });
});
