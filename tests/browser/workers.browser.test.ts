import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import {
  breakAnswers,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
} from './stage.ts';

describe.skipIf(!hasBrowser())('workers', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    stage = await PageStage.open({
      handlers: { ok: () => 'done' },
    });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/workers');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(async () => {
    await endServers();
    await stage.close();
  });

  const rows = (on = page) => on.getByRole('table', { name: 'Workers' }).locator('[data-id]');

  test('are listed with what they offer, and lead to what they ran', async () => {
    await rows().first().getByText('ok', { exact: true }).waitFor();
    await rows().first().getByRole('link', { name: "server's worker" }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await stage.admin.jobs.create({ name: 'ran there', handler: 'ok' });
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'ran there' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.goBack();
  });

  test('are drained after a question, and take runs again', async () => {
    await rows().first().getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await rows().first().getByText('draining').waitFor();
    await rows().first().getByRole('button', { name: 'Undrain' }).click();
    await rows().first().getByText('alive').waitFor();
  });

  test('that match no filter are none, with a way back', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('rack:7');
    await page.getByRole('heading', { name: 'No worker' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rows().first().waitFor();
  });

  test('of another server appear, and are shown as lost when it was killed', async () => {
    const flags = ['--database-url', stage.databaseUrl];
    const other = launchServer({ name: 'other', folder: makeTestFolder(), port: await fixedPort(), flags });
    await other.ready();
    // New rows wait while the pointer is over the list.
    await page.getByRole('heading', { name: 'Workers' }).hover();
    await rows().nth(1).waitFor();
    await other.kill();
    await rows().getByText('lost', { exact: true }).first().waitFor();
  });

  test('that are killed turn lost with what they held, their run is tried again, and they stay to be looked at', async () => {
    const { key } = await stage.admin.keys.create({
      ...{ name: 'worker', worker: { handlers: ['script'], namespaces: ['*'] } },
    } as never);
    const cli = fileURLToPath(new URL('../../packages/cli/bin/carillon.mjs', import.meta.url));
    const flags = ['--url', stage.url, '--handlers', 'script', '--slots', '2', '--name', 'doomed'];
    const worker = spawn(process.execPath, [cli, 'worker', ...flags], {
      env: { ...process.env, CARILLON_KEY: key },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    try {
      const row = rows().filter({ hasText: 'doomed' });
      await page.getByRole('heading', { name: 'Workers' }).hover();
      await row.getByText('alive').waitFor();
      // Then the run goes to the one that is killed.
      const others = (await stage.admin.workers.list({ alive: true }).toArray()).filter(
        ({ name }) => name !== 'doomed',
      );
      for (const { worker_id: id } of others) await stage.admin.workers.drain(id);
      const { job_id: jobId } = await stage.admin.jobs.create({
        ...{ name: 'long script', handler: 'script', payload: { interpreter: 'bash', script: 'sleep 600' } },
      });
      await row.getByText('1 / 2').waitFor();
      worker.kill('SIGKILL');
      await ended;
      await row.getByText('lost').waitFor();
      await row.getByText('held 1 run').waitFor();
      await page.getByText(/lost in the last hour/).waitFor();
      await expectAccessibleInBothSchemes(page);
      await row.getByRole('link', { name: 'doomed' }).click();
      await page.getByRole('link', { name: jobId.slice(-12), exact: true }).click();
      for (const { worker_id: id } of others) await stage.admin.workers.undrain(id);
      await expect
        .poll(async () => (await stage.admin.runs.get(jobId)).attempts.map(({ status }) => status), {
          timeout: 120_000,
        })
        .toEqual(['RUNNING', 'LOST']);
      await stage.admin.jobs.cancel(jobId);
      await page.goto('/workers');
      await rows().filter({ hasText: 'doomed' }).getByText('lost').waitFor();
    } finally {
      worker.kill('SIGKILL');
    }
  });

  test('that fell silent are shown as lost, and cannot be drained', async () => {
    await page.route(/\/api\/workers/, async (route) => {
      const answer = await route.fetch();
      const workers = (await answer.json()) as object[];
      await route.fulfill({ response: answer, json: workers.map((worker) => ({ ...worker, alive: false })) });
    });
    await rows().first().getByText('lost').waitFor();
    expect(await rows().first().getByRole('button', { name: 'Drain' }).getAttribute('aria-disabled')).toBe(
      'true',
    );
    await expectAccessibleInBothSchemes(page);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('tell that they cannot be read', async () => {
    await page.goto('about:blank');
    const mend = await breakAnswers(page, /\/api\/workers/);
    await page.goto('/workers');
    await page.getByText('The database does not answer.').first().waitFor();
    await mend();
    await page.getByRole('button', { name: 'Try again' }).last().click();
    await rows().first().waitFor();
    stage.forgiveFailedAnswers();
  });

  test('are not for people of one namespace: no way leads there, and their address says who may', async () => {
    const grants = [{ namespace: 'default', role: 'operator' }];
    const other = await stage.signedIn('olga', grants, '/workers', { width: 800 });
    for (const path of ['/workers', '/workers/some-worker']) {
      await other.goto(path);
      await other.getByRole('heading', { name: 'This page is not for you' }).waitFor();
      await other.getByText('Needs the role viewer in all namespaces.').waitFor();
    }
    await expectAccessibleInBothSchemes(other);
    await other.getByRole('link', { name: 'Runs' }).waitFor();
    expect(await other.getByRole('link', { name: 'Workers' }).count()).toBe(0);
    await other.keyboard.press('Control+k');
    await other.getByRole('combobox').fill('work');
    await other.getByText('Nothing is called so.').waitFor();
    await other.context().close();
    await page.setViewportSize({ width: 360, height: 740 });
    await expectFits(page);
  });
});
