import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  breakAnswers,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  PASSWORD,
  type Page,
  PageStage,
  signIn,
} from './stage.ts';

const PARTS = ['me', 'namespaces', 'users', 'keys', 'secrets', 'audit'];

describe.skipIf(!hasBrowser())('settings', () => {
  let stage: PageStage;
  let page: Page;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-settings-'));
    const keyFile = join(folder, 'secrets.key');
    await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    stage = await PageStage.open({ settings: { secrets: { key_file: keyFile } } });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/settings/me');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  const dialog = () => page.getByRole('dialog');
  const open = async (part: string, name: string) => {
    await page.goto(`/settings/${part}`);
    await page.getByRole('button', { name, exact: true }).click();
  };

  test('invite a colleague who may only look', async () => {
    await open('users', 'Invite');
    await dialog().getByRole('textbox', { name: 'User name' }).fill('vic');
    await dialog().getByLabel('First password').and(page.locator('input')).fill(PASSWORD);
    await dialog().getByLabel('Your password').and(page.locator('input')).fill('not mine');
    await dialog().getByRole('button', { name: 'Create the account' }).click();
    await dialog().getByRole('alert').waitFor();
    await expectAccessibleInBothSchemes(page);
    await dialog().getByLabel('Your password').and(page.locator('input')).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('vic can sign in now').waitFor();
    await page.getByRole('row', { name: /vic.*viewer@default/ }).waitFor();
  });

  test('set a new password for a colleague who forgot theirs', async () => {
    await page.goto('/settings/users');
    await page.getByRole('row', { name: /vic/ }).getByRole('button', { name: 'Password' }).click();
    await dialog().getByText('At least 12 characters.').waitFor();
    await expectAccessibleInBothSchemes(page);
    await dialog().getByLabel('New password').and(page.locator('input')).fill('another horse battery');
    await dialog().getByLabel('Your password').and(page.locator('input')).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('vic can sign in with the new password.').waitFor();
    const { page: theirs, context } = await stage.visitor();
    await theirs.goto('/');
    await signIn(theirs, 'vic', 'another horse battery');
    await theirs.getByRole('button', { name: 'vic' }).waitFor();
    await context.close();
  });

  test('make a namespace, a secret that is not shown, and a key that is shown once', async () => {
    await open('namespaces', 'New namespace');
    await dialog().getByRole('textbox', { name: 'Name' }).fill('billing');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'billing' }).waitFor();

    await open('secrets', 'New secret');
    await dialog().getByRole('textbox', { name: 'Name' }).fill('api-token');
    await dialog().getByLabel('Value').and(page.locator('input')).fill('hush hush hush');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'api-token' }).waitFor();
    expect(await page.content()).not.toContain('hush hush');

    await open('keys', 'New key');
    await dialog().getByRole('textbox', { name: 'Name' }).fill('deploys');
    await page.keyboard.press('Enter');
    const key = await page.getByTestId('new-key').textContent();
    await expectAccessibleInBothSchemes(page);
    await dialog().getByText('Close', { exact: true }).click();
    await page.getByRole('row', { name: /deploys/ }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  test('tell in the audit log who did it', async () => {
    await page.goto('/settings/audit');
    await page.getByRole('row', { name: /ada.*namespaces\.create/ }).click();
    await dialog().getByText('billing').first().waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
  });

  test.each(PARTS)('can be used by everybody: %s', async (part) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`/settings/${part}`);
    await page.getByRole('tabpanel').getByRole('heading').first().waitFor();
    await page.getByRole('tabpanel').locator('[data-id], tbody tr').first().waitFor();
    await expectFits(page);
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('tell that they cannot be read', async () => {
    await page.goto('about:blank');
    const mend = await breakAnswers(page, /\/api\/users/);
    await page.goto('/settings/users');
    await page.getByText('The database does not answer.').waitFor();
    await mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('row', { name: /vic/ }).waitFor();
    stage.forgiveFailedAnswers();
  });

  test('show viewers their own account, and nothing of others', async () => {
    const { page: viewer, context } = await stage.visitor();
    await viewer.goto('/settings/users');
    await signIn(viewer, 'vic', 'another horse battery');
    await viewer.getByRole('heading', { name: 'This page is not for you' }).waitFor();
    await viewer.getByText('Needs the role admin in all namespaces.').waitFor();
    await viewer.goto('/jobs/new');
    await viewer.getByText('Needs the role editor.').waitFor();
    await viewer.goto('/settings/me');
    await viewer.getByText('viewer@default').first().waitFor();
    expect(await viewer.getByRole('tab', { name: 'Audit log' }).count()).toBe(0);
    const statuses = await viewer.evaluate(async () =>
      Promise.all(['users', 'audit'].map(async (path) => (await fetch(`/api/${path}`)).status)),
    );
    expect(statuses).toEqual([403, 403]);
    const names = await viewer.evaluate(async () => (await fetch('/api/namespaces')).text());
    expect(names).not.toContain('billing');
    await context.close();
  });

  test('a changed password ends the session and leads to the sign-in', async () => {
    await open('me', 'Change password');
    await dialog().getByLabel('Password now').and(page.locator('input')).fill(PASSWORD);
    await dialog().getByLabel('New password').and(page.locator('input')).fill(`${PASSWORD} two`);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/login/);
  });
});
