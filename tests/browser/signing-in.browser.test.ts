import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, hasBrowser, PageStage } from './stage.ts';

describe.skipIf(!hasBrowser())('the page, to somebody who signs in', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  test('asks who they are and then shows what they asked for', async () => {
    await stage.admin.jobs.create({
      name: 'nightly report',
      handler: 'default',
      schedule_time: '2099-01-01T00:00:00Z',
    });
    const page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/jobs?text=nightly');
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/jobs?text=nightly');
    await page.getByRole('link', { name: 'nightly report' }).waitFor();
    await expectAccessible(page);
  });

  test('says that a password is wrong and what to do, and shows nothing else', async () => {
    await stage.signedIn('bob', [{ namespace: 'default', role: 'viewer' }]);
    const { page } = await stage.visitor({ scheme: 'dark' });
    await page.goto('/jobs');
    await page.getByLabel('Name').fill('bob');
    await page.locator('input[type=password]').fill('not this one');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    expect(new URL(page.url()).pathname).toBe('/login');
    await expectAccessible(page);
  });
});
