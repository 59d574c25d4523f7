import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { expectAccessibleInBothSchemes, hasBrowser, PASSWORD, PageStage } from './stage.ts';

describe.skipIf(!hasBrowser())('a server that was started for the first time', () => {
  let stage: PageStage;
  let server: ServerProcess;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-first-'));
    stage = await PageStage.open({
      start: async (databaseUrl) => {
        const flags = ['--database-url', databaseUrl];
        server = await launchServer({ name: 'first', folder, port: await fixedPort(), flags }).ready();
        return { url: server.address, key: await server.adminKey(), stop: () => server.kill() };
      },
    });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(async () => {
    await stage.close();
    await endServers();
    await rm(folder, { recursive: true, force: true });
  });

  test('prints a link that signs in once, offers the first account, and shows the first job that runs', async () => {
    const link = await eventually(
      async () => {
        const found = /http:\S+\/#ticket=[\w-]+/.exec(await server.output())?.[0];
        if (found === undefined) throw new Error('no link was printed');
        return found;
      },
      { withinMs: 60_000 },
    );
    const { page, context } = await stage.visitor();
    await page.goto(link);
    await page.getByRole('heading', { name: 'Welcome to Carillon' }).waitFor();
    expect(page.url()).not.toContain('ticket');
    await expectAccessibleInBothSchemes(page);

    await page.getByRole('button', { name: 'Make an account' }).click();
    await page.getByRole('textbox', { name: 'User name' }).fill('ada');
    await page.getByRole('dialog').locator('input[type=password]').fill(PASSWORD);
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByText('You are signed in as ada now.').waitFor();
    await page.getByRole('button', { name: 'ada', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Make an account' }).count()).toBe(0);

    await stage.admin.jobs.create({
      name: 'hello',
      handler: 'http',
      payload: { url: `${stage.url}/health/live` },
    });
    await page.goto('/runs');
    await page.getByRole('row', { name: /succeeded.*hello/ }).waitFor();
    await context.close();

    const { page: second } = await stage.visitor();
    await second.goto(link);
    await second.getByRole('alert').waitFor();
    await second.getByLabel('Name').fill('ada');
    await second.locator('input[type=password]').fill(PASSWORD);
    await second.keyboard.press('Enter');
    await second.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('lets the admin key in, which the page does not keep', async () => {
    const { page } = await stage.visitor();
    await page.goto('/workers');
    await page.getByRole('button', { name: /admin key/ }).click();
    const key = await server.adminKey();
    await page.locator('input[type=password]').fill(key);
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(kept).not.toContain(key);
  });
});
