/** The versions of a job on its page: what changed, and one of them brought back. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessibleInBothSchemes, expectFits, hasBrowser, PageStage } from './stage.ts';

const EDITOR = [{ namespace: '*', role: 'editor' }];
const VIEWER = [{ namespace: '*', role: 'viewer' }];

describe.skipIf(!hasBrowser())('versions of a job, on the page', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const call = (page: number, token: string) => ({
    ...{ url: `https://example.org/?page=${page}`, headers: { authorization: `Bearer ${token}` } },
  });

  const makeTwoVersions = async (name: string): Promise<string> => {
    const { job_id: id } = await stage.admin.jobs.create({
      ...{ name, handler: 'http', cron_expression: '0 9 * * *', payload: call(1, 'first-token') },
    });
    await stage.admin.jobs.update(id, {
      ...{ cron_expression: '0 18 * * *', priority: 'high', payload: call(2, 'second-token') },
    });
    return id;
  };

  test('an editor restores one after its difference was shown, and it is a new version', async () => {
    const id = await makeTwoVersions('nightly report');
    const page = await stage.signedIn('ed', EDITOR, `/jobs/${id}?tab=versions`);
    await page.getByText('version 2 ·').waitFor();
    expect(await page.getByRole('button', { name: /^Restore this version/ }).count()).toBe(1);
    await page.getByRole('button', { name: 'Restore this version: 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restore version 1?' });
    const changes = dialog.getByRole('table', { name: 'What restoring changes' });
    await changes.getByRole('row', { name: /cron_expression.*0 18 \* \* \*.*0 9 \* \* \*/ }).waitFor();
    await changes.getByRole('row', { name: /payload\.url.*page=2.*page=1/ }).waitFor();
    await dialog.getByText(/payload\.headers\.authorization/).waitFor();
    // Not by colours alone: signs for the eye, words for screen readers, and what changed within the line.
    const url = changes.getByRole('row', { name: /payload\.url/ });
    await url.getByRole('cell', { name: /^removed: https:\/\/example\.org\/\?page=2$/ }).waitFor();
    await url.getByRole('cell', { name: /^added: https:\/\/example\.org\/\?page=1$/ }).waitFor();
    expect(await url.locator('mark').allTextContents()).toEqual(['2', '1']);
    expect(await url.locator('[aria-hidden]').allTextContents()).toEqual(['-', '+']);
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByText('nightly report is as in version 1 again. This is version 3.').waitFor();
    await page.getByText('restored version 1').waitFor();
    expect(await stage.admin.jobs.get(id)).toMatchObject({
      ...{ version: 3, cron_expression: '0 9 * * *', priority: 'medium', payload: call(1, 'second-token') },
    });
    await expectAccessibleInBothSchemes(page);
  });

  test('names what changed as the interface does, and shows a script by its lines', async () => {
    const { job_id: id } = await stage.admin.jobs.create({
      ...{ name: 'backup', handler: 'script', schedule_time: '2099-01-01T00:00:00Z' },
      payload: { interpreter: 'bash', script: 'echo one\necho two' },
    });
    await stage.admin.jobs.update(id, {
      ...{ max_retries: 5, retry: { max_delay_seconds: 60 } },
      payload: { interpreter: 'bash', script: 'echo one\necho three' },
    });
    const page = await stage.signedIn('ed', EDITOR, `/jobs/${id}?tab=versions`);
    const changes = page.getByRole('table', { name: 'Changes of version 2' });
    await changes.getByRole('row', { name: /^max_retries.*3.*5/ }).waitFor();
    await changes.getByRole('row', { name: /^retry\.max_delay_seconds.*300.*60/ }).waitFor();
    const script = changes.getByRole('row', { name: /^payload\.script/ });
    expect(await script.locator('mark').allTextContents()).toEqual(['wo', 'hree']);
    expect(await changes.textContent()).not.toMatch(/delay_ms_max|\\n/);
  });

  test('a job that somebody changed meanwhile is left alone, and the difference is shown anew', async () => {
    const id = await makeTwoVersions('raced');
    const page = await stage.signedIn('ed', EDITOR, `/jobs/${id}?tab=versions`);
    await page.getByRole('button', { name: 'Restore this version: 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restore version 1?' });
    await dialog.getByRole('row', { name: /priority.*high.*medium/ }).waitFor();
    let isChanged = false;
    await page.route(/\/restore$/, async (route) => {
      if (!isChanged) await stage.admin.jobs.update(id, { priority: 'low' });
      isChanged = true;
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Restore this version' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/is at version 3/)
      .waitFor();
    await dialog.getByRole('row', { name: /priority.*low.*medium/ }).waitFor();
    expect(await stage.admin.jobs.get(id)).toMatchObject({ version: 3, priority: 'low' });
  });

  test('a viewer reads what changed, and is told which role restores', async () => {
    const id = await makeTwoVersions('looked at');
    const page = await stage.signedIn('vi', VIEWER, `/jobs/${id}?tab=versions`, { width: 360 });
    const button = page.getByRole('button', { name: 'Restore this version: 1' });
    await button.waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.hover();
    await page.getByText('Needs the role editor in default').waitFor();
    await expectFits(page);
  });
});
