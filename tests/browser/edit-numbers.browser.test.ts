/** Numbers in the form of a job and in its JSON are saved as they were typed, or not at all. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { HandlerPlugin } from '../../packages/worker/src/index.ts';
import { expectAccessibleInBothSchemes, hasBrowser, type Page, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const FAR = '2099-01-01T00:00:00Z';

const importer: HandlerPlugin = {
  name: 'import',
  description: 'Reads rows of an account.',
  parameters: {
    type: 'object',
    required: ['account'],
    properties: {
      account: { type: 'integer', description: 'The number of the account.' },
      share: { type: 'number' },
    },
  },
  run: () => 'done',
};

describe.skipIf(!hasBrowser())('numbers of a job, on the page', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open({ handlers: { import: importer } });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const make = async (name: string, payload: object) =>
    (await stage.admin.jobs.create({ name, handler: 'import', schedule_time: FAR, payload } as never)).job_id;
  const save = async (page: Page) => {
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Run now' }).waitFor();
  };
  const cannotSave = (page: Page) =>
    page.getByRole('button', { name: 'Review and save', disabled: true }).waitFor();

  test('a field takes fractions and as many digits as a number has, and refuses to round the others', async () => {
    const id = await make('digits', { account: 1 });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    const account = page.getByLabel('account');
    const share = page.getByLabel('share');
    await account.fill('');
    await account.pressSequentially('1234567890123456');
    await share.pressSequentially('1.05');
    expect([await account.inputValue(), await share.inputValue()]).toEqual(['1234567890123456', '1.05']);
    await save(page);
    expect((await stage.admin.jobs.get(id)).payload).toEqual({ account: 1_234_567_890_123_456, share: 1.05 });

    await page.goto(`/jobs/${id}/edit`);
    await account.fill('12345678901234567890');
    await share.focus();
    await page
      .getByText('The number 12345678901234567890 would be rounded to 12345678901234567000.')
      .waitFor();
    expect(await account.inputValue()).toBe('12345678901234567890');
    await cannotSave(page);
    await expectAccessibleInBothSchemes(page);
    await account.fill('7');
    await save(page);
    expect((await stage.admin.jobs.get(id)).payload).toEqual({ account: 7, share: 1.05 });
  });

  test('JSON with a number that would be rounded is not saved, and stays as it was typed', async () => {
    const id = await make('as json', { account: 9_007_199_254_740_991, rows: [0.1, 1e21 / 1e21] });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await page.getByText('JSON', { exact: true }).click();
    const editor = page.getByLabel('The job as JSON');
    await editor.getByText('9007199254740991').waitFor();
    const typed = JSON.stringify({ name: 'as json', payload: { account: 0 } }).replace(
      '"account":0',
      '"account":9007199254740993',
    );
    await editor.fill(typed);
    const told = page.getByRole('alert').getByText(/9007199254740993 would be rounded to 9007199254740992/);
    await told.waitFor();
    await cannotSave(page);
    // The form shows none of it, and going back finds the text.
    await page.getByText('Form', { exact: true }).click();
    await page.getByText(/cannot be read yet, so the form cannot show it/).waitFor();
    await page.getByText('JSON', { exact: true }).click();
    await editor.getByText('9007199254740993').waitFor();
    await told.waitFor();
    expect((await stage.admin.jobs.get(id)).payload).toEqual({
      account: 9_007_199_254_740_991,
      rows: [0.1, 1],
    });
  });

  test('the server refuses what it could not keep, whoever asks', async () => {
    const { url, adminKey } = stage;
    const answer = await fetch(`${url}/api/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: '{"name":"large","handler":"import","payload":{"account":9007199254740993}}',
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { field: 'payload.account' }]);
  });
});
