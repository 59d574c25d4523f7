/** The form of a job and its JSON: parameters of a handler, commands to copy, the cron helper, a duplicate, and the keyboard alone. */
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { HandlerPlugin } from '../../packages/worker/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { shoot, WAIT } from './failing-runs.ts';
import { expectAccessibleInBothSchemes, expectFits, hasBrowser, type Page, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const FAR = '2099-01-01T00:00:00Z';
/** The form has fewer controls. */
const TABS_MAX = 80;

const resize: HandlerPlugin = {
  name: 'resize',
  description: 'Makes pictures smaller.',
  parameters: {
    type: 'object',
    required: ['folder', 'width'],
    properties: {
      folder: { type: 'string', description: 'Where the pictures are.' },
      width: { type: 'integer', minimum: 1, maximum: 5_000 },
      format: { type: 'string', enum: ['jpeg', 'webp'], default: 'jpeg' },
      keep: { type: 'boolean', description: 'Keeps the originals.' },
      only: { type: 'array', items: { type: 'string' } },
    },
  },
  run: () => 'done',
};

describe.skipIf(!hasBrowser())('the form of a job', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open({ handlers: { resize } });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const make = async (name: string, more: object = {}) =>
    (await stage.admin.jobs.create({ name, handler: 'default', schedule_time: FAR, ...more } as never))
      .job_id;
  const only = async (name: string) => {
    const found = await stage.admin.jobs.list({ name, include: 'payload' }).toArray();
    expect(found).toHaveLength(1);
    return found[0]!;
  };
  const nameOn = (page: Page) => page.getByLabel('Name', { exact: false }).first();
  const create = (page: Page) => page.getByRole('button', { name: 'Create job' });

  test('asks for the parameters of a handler as its schema has them', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await nameOn(page).fill('smaller');
    await page.getByRole('combobox', { name: 'Handler' }).fill('resize');
    await page.getByRole('heading', { name: 'New job' }).click();
    await page.getByText('Makes pictures smaller.').first().waitFor();
    await page.getByText('Where the pictures are.').waitFor();
    await shoot(page, 'edit-schema');
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel('width').fill('640');
    await page.getByLabel('keep').check();
    await page.getByRole('combobox', { name: 'format' }).click();
    await page.getByRole('option', { name: 'webp' }).click();
    await page.getByLabel('only').fill('["a.png"');
    await page.getByText(/Not JSON yet/).waitFor();
    await page.getByLabel('only').fill('["a.png"]');
    // What is missing is told by the server, at its field.
    await create(page).click();
    const folder = page.getByRole('textbox', { name: 'folder' });
    await folder.and(page.locator('[aria-invalid=true]')).waitFor();
    await folder.fill('/pictures');
    await create(page).click();
    await page.getByRole('heading', { name: 'smaller' }).waitFor();
    expect((await only('smaller')).payload).toEqual({
      ...{ folder: '/pictures', width: 640, keep: true, format: 'webp', only: ['a.png'] },
    });
  });

  test('as JSON says what is wrong, is not saved meanwhile, and then shows the same in the form', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByText('JSON', { exact: true }).click();
    const editor = page.getByLabel('The job as JSON');
    await editor.fill('{"name": "typed", ');
    await page
      .getByRole('alert')
      .getByText(/Not JSON yet/)
      .waitFor();
    await page.getByRole('button', { name: 'Create job', disabled: true }).waitFor();
    await shoot(page, 'edit-json-wrong');
    await expectAccessibleInBothSchemes(page);
    await editor.fill('[1]');
    await page.getByRole('alert').getByText('A job is an object').waitFor();
    await editor.fill('{"name": "typed", "handler": "resize", "payload": {"folder": "/in", "width": 7}}');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByText('Form', { exact: true }).click();
    expect(await nameOn(page).inputValue()).toBe('typed');
    expect(await page.getByLabel('width').inputValue()).toBe('7');
    await nameOn(page).fill('typed and changed');
    await page.getByText('JSON', { exact: true }).click();
    await editor.getByText('"typed and changed"').waitFor();
    await create(page).click();
    await page.getByRole('heading', { name: 'typed and changed' }).waitFor();
    expect((await only('typed and changed')).payload).toEqual({ folder: '/in', width: 7 });
  });

  test.each([
    ['with a clipboard', true],
    ['without one, as on a page that is not secure', false],
  ])('is copied as a command, %s', async (_, hasClipboard) => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs');
    if (hasClipboard) await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    else
      await page.addInitScript(
        "Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })",
      );
    await page.goto('/jobs/new');
    await nameOn(page).fill("Ada's report");
    await page.getByLabel('Address').fill('https://example.org/');
    const languages = page.getByRole('radiogroup', { name: 'Language' });
    for (const [language, part] of [
      ['curl', `curl -X POST ${stage.url}/api/jobs`],
      ['CLI', `jobs create 'Ada'\\''s report'`],
      ['TypeScript', `name: 'Ada\\'s report'`],
    ] as const) {
      await languages.getByText(language, { exact: true }).click();
      const code = page.getByLabel(`As ${language}`);
      await code.waitFor();
      const text = (await code.textContent())!;
      expect(text).toContain(part);
      const card = page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: 'As a command' }) });
      await card.getByRole('button', { name: 'Copy' }).click();
      await card.getByRole('button', { name: 'Copied' }).waitFor();
      // What is pasted is what was copied.
      const box = page.getByLabel('Body');
      await box.fill('');
      await box.press('ControlOrMeta+v');
      await eventually(async () => expect(await box.inputValue()).toBe(text), WAIT);
      await box.fill('');
      await card.getByRole('button', { name: 'Copy' }).waitFor();
    }
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  test('helps with a cron expression, by a preset and field by field', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByText('Cron', { exact: true }).click();
    await page.getByRole('combobox', { name: 'Preset' }).click();
    await page.getByRole('option', { name: 'On the last day of the month at 18:00' }).click();
    const cron = page.getByLabel('Cron expression');
    expect(await cron.inputValue()).toBe('0 18 L * *');
    await page
      .getByText(/^On the last day of the month at 18:00/)
      .first()
      .waitFor();
    const part = page.getByRole('group', { name: 'Field by field' });
    await part.getByLabel('Hour').fill('7');
    await part.getByLabel('Day of month').fill('*');
    await part.getByLabel('Weekday').fill('MON-FRI');
    expect(await cron.inputValue()).toBe('0 7 * * MON-FRI');
    await page.getByText(/^Every weekday at 07:00/).waitFor();
    await part.getByLabel('Weekday').fill('9');
    await page.locator('[data-field=cron_expression][aria-invalid=true]').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  test('comes back by Undo after it was discarded', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await nameOn(page).fill('a long form');
    await page.getByText('Cron', { exact: true }).click();
    await page.getByLabel('Cron expression').fill('0 7 * * *');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.waitForURL((url) => url.pathname === '/jobs');
    await page.getByText('The draft of a long form was discarded.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    expect(await nameOn(page).inputValue()).toBe('a long form');
    expect(await page.getByLabel('Cron expression').inputValue()).toBe('0 7 * * *');
    await page.getByRole('button', { name: 'Drop the draft' }).click();
  });

  test('begins with a copy of another job, which has no key and no state of it', async () => {
    const id = await make('origin', {
      ...{
        schedule_time: undefined,
        cron_expression: '0 9 * * *',
        time_zone: 'Asia/Tokyo',
        key: 'origin-key',
      },
      ...{ labels: { team: 'billing' }, payload: { n: 1 } },
    });
    await stage.admin.jobs.pause(id);
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}`);
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    expect(await nameOn(page).inputValue()).toBe('origin (copy)');
    await expectAccessibleInBothSchemes(page);
    await create(page).click();
    await page.getByRole('heading', { name: 'origin (copy)' }).waitFor();
    expect(await only('origin (copy)')).toMatchObject({
      ...{ key: null, status: 'SCHEDULED', cron_expression: '0 9 * * *', time_zone: 'Asia/Tokyo' },
      ...{ labels: { team: 'billing' }, payload: { n: 1 } },
    });
  });

  test('one job is cancelled after a question, for good', async () => {
    const id = await make('unwanted');
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel unwanted?' });
    await dialog.getByText(/it never runs again/).waitFor();
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('it was cancelled, and does not run again').waitFor();
    expect((await stage.admin.jobs.get(id)).status).toBe('CANCELLED');
    const again = page.getByRole('button', { name: 'Cancel', exact: true });
    expect(await again.getAttribute('aria-disabled')).toBe('true');
  });

  test('the calendar of a job marks both changes of the clock, and says what they do to a fire', async () => {
    const id = await make('in the gap', {
      ...{ schedule_time: undefined, cron_expression: '30 2 * * *', time_zone: 'Europe/Paris' },
    });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}?tab=calendar&month=2031-03`);
    await page.getByRole('cell', { name: /^30.*clocks change/ }).waitFor();
    await page.getByText('Clocks of Europe/Paris go forward on Sun 30 Mar 2031').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.goto(`/jobs/${id}?tab=calendar&month=2031-10`);
    await page.getByRole('cell', { name: /^26.*clocks change/ }).waitFor();
    await page.getByText('Clocks of Europe/Paris go back on Sun 26 Oct 2031').waitFor();
  });

  test('its questions can be read by everybody, in light and in dark', async () => {
    const id = await make('asked about', {
      ...{ schedule_time: undefined, cron_expression: '0 9 1 1 *', time_zone: 'UTC' },
    });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}`);
    await page
      .getByRole('table', { name: 'Next fires' })
      .getByRole('button', { name: 'Skip' })
      .first()
      .click();
    await page.getByRole('dialog').getByText('The schedule goes on after it.').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog', { name: 'Run asked about now' }).waitFor();
    await shoot(page, 'job-run-now');
    await expectAccessibleInBothSchemes(page);
    await page.goto(`/jobs/${id}/edit`);
    await nameOn(page).fill('mine');
    await stage.admin.jobs.update(id, { name: 'theirs', priority: 'high' });
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog', { name: 'Somebody changed this job meanwhile' }).waitFor();
    await shoot(page, 'edit-conflict');
    await expectAccessibleInBothSchemes(page);
  });

  test('is filled in and saved by the keyboard alone, and changed so', async () => {
    await make('there before');
    const page = await stage.signedIn('ada', ADMIN, '/jobs');
    await page.getByRole('link', { name: 'there before' }).waitFor();
    const keys = page.keyboard;
    await keys.press('n');
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    await tabTo(page, nameOn(page));
    await keys.type('by keys');
    await tabTo(page, page.getByLabel('Address'));
    await keys.type('https://example.org/keys');
    await tabTo(page, page.getByRole('radio', { name: 'Now', exact: true }));
    await keys.press('ArrowRight');
    await keys.press('ArrowRight');
    await tabTo(page, page.getByLabel('Cron expression'));
    await keys.press('ControlOrMeta+a');
    await keys.type('15 4 * * *');
    await page.getByText(/^Every day at 04:15/).waitFor();
    await tabTo(page, create(page));
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'by keys' }).waitFor();
    expect(await only('by keys')).toMatchObject({
      ...{ cron_expression: '15 4 * * *', payload: { url: 'https://example.org/keys' } },
    });
    await keys.press('e');
    await page.getByRole('heading', { name: 'Edit by keys' }).waitFor();
    await tabTo(page, nameOn(page));
    await keys.press('ControlOrMeta+a');
    await keys.type('by keys alone');
    await tabTo(page, page.getByRole('button', { name: 'Review and save' }));
    await keys.press('Enter');
    // The question has the focus on its answer.
    await page
      .getByRole('dialog')
      .getByRole('cell', { name: /by keys alone/ })
      .waitFor();
    await eventually(
      async () =>
        expect(await isFocused(page.getByRole('dialog').getByRole('button', { name: 'Save' }))).toBe(true),
      WAIT,
    );
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'by keys alone' }).waitFor();
  });
});

const isFocused = (of: Locator) => of.evaluate((element) => element === element.ownerDocument.activeElement);

async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor({ state: 'attached' });
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    if (await isFocused(wanted)) return;
    await page.keyboard.press('Tab');
  }
  expect.fail(`${String(wanted)} cannot be reached by ${TABS_MAX} tabs`);
}
