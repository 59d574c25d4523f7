/** What the form of a job says when a save fails, when somebody else saved before, and when the name is that of another job. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { breakAnswers, expectAccessible, expectFits, hasBrowser, type Page, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const FAR = '2099-01-01T00:00:00Z';

describe.skipIf(!hasBrowser())('saving a job, on the page', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const make = async (name: string, more: object = {}) => {
    const job = { name, handler: 'default', schedule_time: FAR, ...more };
    return (await stage.admin.jobs.create(job as never)).job_id;
  };
  const nameOn = (page: Page) => page.getByLabel('Name', { exact: false }).first();

  test('a new job that cannot be made says so beside the button, wherever the form is scrolled to', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await nameOn(page).fill('not made');
    await page.getByLabel('Address').fill('https://example.org/');
    const mend = await breakAnswers(page, /\/api\/jobs$/);
    await page.getByRole('button', { name: 'Create job' }).click();
    const told = page.getByRole('alert').getByText('The database does not answer.');
    await told.waitFor();
    const { y, height } = (await told.boundingBox())!;
    expect(y + height).toBeLessThanOrEqual(page.viewportSize()!.height);
    await expectAccessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await mend();
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.getByRole('heading', { name: 'not made' }).waitFor();
    stage.forgiveFailedAnswers();
  });

  test('what is no JSON in a field of the form is not left out of what is saved: nothing is', async () => {
    const payload = { pages: 5 };
    const id = await make('thumbnails', { handler: 'make-thumb', payload });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await nameOn(page).fill('thumbnails now');
    await page.getByLabel('Payload').fill('{"pages": 50');
    const save = page.getByRole('button', { name: 'Review and save' });
    await page.getByRole('button', { name: 'Review and save', disabled: true }).waitFor();
    await save.hover();
    await page
      .getByRole('tooltip')
      .getByText('What was typed cannot be read yet: its field says why.')
      .waitFor();
    await page.getByLabel('Payload').fill('{"pages": 50}');
    await save.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'thumbnails now' }).waitFor();
    expect((await stage.admin.jobs.get(id)).payload).toEqual({ pages: 50 });
  });

  test('the question before a change stays open with what went wrong, and saves when it is asked again', async () => {
    const id = await make('changed later');
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await nameOn(page).fill('changed now');
    await page.getByRole('button', { name: 'Review and save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save these changes?' });
    const mend = await breakAnswers(page, new RegExp(`/api/jobs/${id}$`));
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByRole('alert').getByText('The database does not answer.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('alert').getByText('The database does not answer.').waitFor();
    await mend();
    await page.getByRole('button', { name: 'Review and save' }).click();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'changed now' }).waitFor();
    stage.forgiveFailedAnswers();
  });

  test('the name of another job is told before a second one is made, and after', async () => {
    const id = await make('nightly copy');
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await nameOn(page).fill('nightly copy');
    const note = page.getByText('There is a job of this name already: nightly copy. A second one is made.');
    await note.waitFor();
    expect(await note.getByRole('link').getAttribute('href')).toBe(`/jobs/${id}`);
    await expectAccessible(page);
    await nameOn(page).fill('nightly copy, other');
    await note.waitFor({ state: 'detached' });
    await nameOn(page).fill('nightly copy');
    await note.waitFor();
    await page.getByLabel('Address').fill('https://example.org/');
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.getByText('nightly copy was made. There is another job of this name.').waitFor();
    await page.goto(`/jobs/${id}/edit`);
    await page.getByText('There is another job of this name already: nightly copy.').waitFor();
  });

  test('of two changes of a job, only what both changed is a choice', async () => {
    const id = await make('two hands', { handler: 'http', payload: { url: 'https://example.org/a' } });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await nameOn(page).fill('mine');
    await page.getByLabel('Address').fill('https://example.org/b');
    const theirs = { url: 'https://example.org/a', method: 'DELETE' };
    await stage.admin.jobs.update(id, { name: 'theirs', priority: 'high', payload: theirs });
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody changed this job meanwhile' });
    const choice = dialog.getByRole('table', { name: 'Theirs and yours' });
    await choice.getByRole('row', { name: /name.*theirs.*mine/ }).waitFor();
    expect(await choice.getByRole('row').count()).toBe(2);
    const kept = dialog.getByRole('table', { name: 'Changes that stay' });
    await kept.getByRole('row', { name: /priority.*changed by them, kept.*medium.*high/ }).waitFor();
    await kept.getByRole('row', { name: /payload\.url.*changed by you, kept/ }).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Put mine on top of theirs' }).click();
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'mine' }).waitFor();
    expect(await stage.admin.jobs.get(id)).toMatchObject({
      ...{ name: 'mine', priority: 'high' },
      payload: { url: 'https://example.org/b', method: 'DELETE' },
    });
  });
});
