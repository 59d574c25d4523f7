/**
 * What somebody does who has only run `npm start`, as one path: from the printed link to a nightly job, its fires across the next
 * clock change, a run that fails and why, its cure, the failed run redriven, and a colleague who may only look.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { shoot } from './failing-runs.ts';
import {
  expectAccessibleInBothSchemes,
  hasBrowser,
  PASSWORD,
  type Page,
  PageStage,
  signIn,
} from './stage.ts';

const WAIT = { withinMs: 60_000 };

describe.skipIf(!hasBrowser())('a newcomer', () => {
  let stage: PageStage;
  let server: ServerProcess;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-newcomer-'));
    // Scripts of a server of root run as another user, and look into it.
    await chmod(folder, 0o711);
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

  test('makes a nightly job, runs it, finds out why it failed, mends it, redrives the run, and invites a colleague', async () => {
    const { page } = await stage.visitor();
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const dialog = page.getByRole('dialog');
    await page.goto(await printedLink(server));
    await button('Make an account').click();
    await dialog.getByRole('textbox', { name: 'User name' }).fill('ada');
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await button('Create the account').click();
    await button('ada').waitFor();

    await page.getByRole('link', { name: 'Make the first job' }).click();
    await page.getByRole('textbox', { name: 'Name' }).first().fill('copy tapes');
    await page.getByRole('combobox', { name: 'Handler' }).fill('script');
    // It goes on when the test has seen it, so that its log is watched while it is written.
    const seen = join(folder, 'seen');
    await page
      .getByRole('textbox', { name: 'Script', exact: true })
      .fill(`#!/bin/bash\necho begin\nuntil [ -e ${seen} ]; do sleep 0.05; done\necho no tape >&2\nexit 3`);
    await page.getByText('Cron', { exact: true }).click();
    await page.getByLabel('Cron expression').fill('30 2 * * *');
    await page.getByText('Every day at 02:30 (Europe/Paris)').waitFor();
    await page.getByText(/clock goes forward/).waitFor();
    await page.getByText(/clock goes back/).waitFor();
    await page.getByRole('table', { name: 'Fires around the next clock change' }).waitFor();
    await page.getByLabel('Retries after a failure').fill('0');
    await shoot(page, 'newcomer-form');
    await button('Create job').click();

    await page.getByRole('heading', { name: 'copy tapes', level: 1 }).waitFor();
    await page.getByText(/Every day at 02:30 \(Europe\/Paris\); next in/).waitFor();
    await expectAccessibleInBothSchemes(page);
    await button('Run now').click();
    await expectAccessibleInBothSchemes(page);
    await button('Run').click();
    await page.waitForURL(/\/runs\//);
    const log = page.getByRole('log');
    await log.getByText('begin', { exact: true }).waitFor();
    await page.getByText('following', { exact: true }).waitFor();
    expect(await page.locator('[data-state="RUNNING"]').count()).toBeGreaterThan(0);
    await writeFile(seen, '');
    await log.getByText('no tape', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Why it failed' }).getByText(/3/).first().waitFor();
    await shoot(page, 'newcomer-failed');
    const failed = page.url();

    await page.getByRole('link', { name: 'Edit the job' }).click();
    await page
      .getByRole('textbox', { name: 'Script', exact: true })
      .fill('#!/bin/bash\necho the tape is there');
    await button('Review and save').click();
    await dialog.getByRole('table', { name: 'Changes' }).getByText('exit 3').waitFor();
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'copy tapes', level: 1 }).waitFor();

    await page.goto(failed);
    await button('Redrive').click();
    await page.getByText('Redriven by ada from run').waitFor();
    await log.getByText('the tape is there', { exact: true }).waitFor();
    await page.locator('[data-state="SUCCESS"]').first().waitFor();
    await shoot(page, 'newcomer-redriven');

    await page.goto('/settings/users');
    await button('Invite').click();
    await dialog.getByRole('textbox', { name: 'User name' }).fill('vic');
    await dialog.getByLabel('First password').and(page.locator('input')).fill(`${PASSWORD} too`);
    await dialog.getByLabel('Your password').and(page.locator('input')).fill(PASSWORD);
    await button('Create the account').click();
    await page.getByRole('row', { name: /vic.*viewer@default/ }).waitFor();
    await expectMayOnlyLook((await stage.visitor()).page);
  });

  async function expectMayOnlyLook(colleague: Page): Promise<void> {
    await colleague.goto('/jobs');
    await signIn(colleague, 'vic', `${PASSWORD} too`);
    await expectAccessibleInBothSchemes(colleague);
    await colleague.getByRole('link', { name: 'copy tapes' }).click();
    await colleague.getByRole('heading', { name: 'copy tapes', level: 1 }).waitFor();
    for (const name of ['Run now', 'Pause', 'Cancel', 'Delete'])
      expect(
        await colleague.getByRole('button', { name, exact: true }).getAttribute('aria-disabled'),
        name,
      ).toBe('true');
    await colleague.getByRole('button', { name: 'Run now' }).hover();
    await colleague.getByRole('tooltip').getByText('Needs the role operator in default').waitFor();
    await shoot(colleague, 'newcomer-colleague');
  }
});

function printedLink(server: ServerProcess): Promise<string> {
  return eventually(async () => {
    const found = /http:\S+\/#ticket=[\w-]+/.exec(await server.output())?.[0];
    if (found === undefined) throw new Error('no link was printed');
    return found;
  }, WAIT);
}
