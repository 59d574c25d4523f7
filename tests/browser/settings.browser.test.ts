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

  test('have an address without a part', async () => {
    await page.goto('/settings');
    await page.waitForURL('**/settings/me');
  });

  test('say at the field what is wrong with it', async () => {
    await open('namespaces', 'New namespace');
    await dialog().getByRole('textbox', { name: 'Name' }).fill('Not A Name!');
    await dialog()
      .getByRole('button', { name: /^(Create|New|Make)/ })
      .click();
    await dialog().getByRole('textbox', { name: 'Name' }).and(page.locator('[aria-invalid=true]')).waitFor();
    expect(await dialog().getByText('This did not work').count()).toBe(0);
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
  });

  test('read in full what a role may, before and after it is chosen', async () => {
    await open('users', 'Invite');
    const role = dialog().getByRole('combobox', { name: 'Role', exact: true });
    const isWhole = (texts: string) =>
      dialog()
        .getByText(texts)
        .evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth);
    expect(await isWhole('viewer: looks, without logs, errors, payloads and results')).toBe(true);
    await role.click();
    await page
      .getByRole('option', { name: /^observer/ })
      .getByText('sees logs, errors')
      .waitFor();
    await page.getByRole('option', { name: /^observer/ }).click();
    expect(await role.inputValue()).toBe('observer');
    expect(await isWhole('observer: sees logs, errors, payloads and results, too')).toBe(true);
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
  });

  test('invite a colleague who may only look', async () => {
    await open('users', 'Invite');
    await dialog().getByRole('textbox', { name: 'User name' }).fill('vic');
    await dialog().getByLabel('First password').and(page.locator('input')).fill(PASSWORD);
    await dialog().getByLabel('Your password').and(page.locator('input')).fill('not mine');
    await dialog().getByRole('button', { name: 'Create the account' }).click();
    await dialog().getByRole('alert').getByText('is not your password').waitFor();
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

  test('show what colleagues may, and what can be done, on a narrow screen too', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto('/settings/users');
    const row = page.getByRole('row', { name: /vic/ });
    await row.getByText('viewer@default').waitFor();
    const remove = await row.getByRole('button', { name: 'Remove' }).boundingBox();
    expect(remove!.x + remove!.width).toBeLessThan(360);
    await page.setViewportSize({ width: 1280, height: 800 });
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

  test.each([1280, 390])('tell of each key whose it is and when it ends, at %i px', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto('/settings/keys');
    const row = page.getByRole('row', { name: /deploys/ });
    const [key] = (await stage.admin.keys.list().toArray()).filter(({ name }) => name === 'deploys');
    for (const words of [row.getByText('ada'), row.locator(`time[datetime="${key!.expires_at}"]`)]) {
      await words.waitFor();
      const box = (await words.boundingBox())!;
      expect(box.x + box.width).toBeLessThan(width);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('make a signing key that is shown once, replace it, and end it', async () => {
    const keys = page.getByRole('table', { name: 'Signing keys' }).locator('tbody tr');
    await page.keyboard.press('Control+k');
    await dialog().getByRole('combobox').fill('signing');
    await dialog()
      .getByRole('option', { name: /Signing keys/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/settings/namespaces');
    await page.getByRole('heading', { name: 'Signing keys of default' }).waitFor();
    await page.getByText('Requests of http jobs of default are not signed').waitFor();

    await page.getByRole('button', { name: 'New signing key', exact: true }).click();
    await dialog().getByRole('button', { name: 'Make the key' }).click();
    const secret = await page.getByTestId('new-key').textContent();
    await expectAccessibleInBothSchemes(page);
    await dialog().getByText('Close', { exact: true }).click();
    await keys.getByText('signs').waitFor();
    expect(await page.content()).not.toContain(secret);

    await page.getByRole('button', { name: 'New signing key', exact: true }).click();
    await dialog().getByLabel('The other keys').click();
    await page.getByRole('option', { name: 'end after one day' }).click();
    await dialog().getByRole('button', { name: 'Make the key' }).click();
    await page.getByTestId('new-key').waitFor();
    await dialog().getByText('Close', { exact: true }).click();
    await keys.nth(1).waitFor();
    expect(await keys.count()).toBe(2);
    const [old, next] = await stage.admin.namespaces.signingKeys.list('default');
    expect(Date.parse(old!.ends_at!) - Date.parse(next!.starts_at)).toBe(86_400_000);
    await expectAccessibleInBothSchemes(page);

    await keys.first().getByRole('button', { name: 'Delete' }).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await keys.nth(1).waitFor({ state: 'detached' });
    expect(await stage.admin.namespaces.signingKeys.list('default')).toEqual([next]);
  });

  test('show signing keys to who may read them, in the namespace where they may', async () => {
    const grants = [
      { namespace: 'default', role: 'viewer' },
      { namespace: 'billing', role: 'admin' },
    ];
    const bill = await stage.signedIn('bill', grants, '/settings/namespaces');
    await bill.getByText('Needs the role admin in default.').waitFor();
    await bill.getByRole('combobox', { name: 'Namespace', exact: true }).last().click();
    await bill.getByRole('option', { name: 'billing' }).last().click();
    await bill.getByText('Requests of http jobs of billing are not signed').waitFor();
    await bill.getByRole('button', { name: 'New signing key' }).click();
    await bill.getByRole('button', { name: 'Make the key' }).click();
    await bill.getByTestId('new-key').waitFor();
  });

  test('give a key another name, and a user another full name', async () => {
    await page.goto('/settings/keys');
    await stage.admin.keys.create({ name: 'old name', grants: [{ role: 'viewer', namespace: 'default' }] });
    await page.reload();
    await page
      .getByRole('row', { name: /old name/ })
      .getByRole('button', { name: 'Rename' })
      .click();
    await dialog().getByLabel('Name').fill('new name');
    await dialog().getByRole('button', { name: 'Rename' }).click();
    await page.getByText('The key is called new name now.').waitFor();
    await page.getByRole('row', { name: /new name/ }).waitFor();
    await page.goto('/settings/users');
    await page.getByRole('row', { name: /^ada/ }).getByRole('button', { name: 'Full name' }).click();
    await dialog().getByLabel('Full name').fill('Ada Lovelace');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Ada Lovelace/ }).waitFor();
  });

  test('tell in the audit log who did it', async () => {
    await page.goto('/settings/audit');
    await page.getByRole('row', { name: /ada.*namespaces\.create/ }).click();
    const changes = dialog().getByRole('table', { name: 'What changed' });
    await changes.getByRole('row', { name: /name.*none.*billing/ }).waitFor();
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
