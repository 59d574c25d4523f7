import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  breakAnswers,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
  tryAgain,
} from './stage.ts';

const WAIT = { withinMs: 60_000 };
/** A script waits for a file. */
const UNTIL_TOLD = 'until [ -e "$1" ]; do sleep 0.1; done';
/** A limit only ends a hang: 100 MB take a while. */
const LONG_MS = 500_000;
const MARKUP = '<img src=x onerror=alert(1)>';

describe.skipIf(!hasBrowser())('a run', () => {
  let stage: PageStage;
  let page: Page;
  let folder: string;
  let goOn: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-log-'));
    // Scripts may run as another user.
    await chmod(folder, 0o755);
    goOn = join(folder, 'go-on');
    stage = await PageStage.open({
      handlers: {
        ok: ({ log }) => log.info('all is well'),
        fail: ({ payload, log }) => {
          log.error(String(payload.text));
          throw new Error(String(payload.text));
        },
        // More than is kept of one attempt; it waits for each part, so that nothing else is missing.
        long: async ({ log }) => {
          const write = (text: string) => log.write('stdout', Buffer.from(text));
          await write('the beginning\n');
          for (let i = 0; i < 192; i += 1) await write(`${'x'.repeat(1_023)}\n`.repeat(64));
          await write('the end\n');
        },
        hold: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      },
    });
    await stage.admin.namespaces.create({ name: 'other' });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The newest run of the job, once it has come so far. */
  const runOf = (jobId: string, status: string) =>
    eventually(async () => {
      const [run] = await stage.admin.jobs.runs(jobId, { limit: 1 }).toArray({ max: 1 });
      expect(run?.status).toBe(status);
      return run!;
    }, WAIT);
  const make = async (job: object, status: string) => {
    const { job_id: jobId } = await stage.admin.jobs.create(job as never);
    return runOf(jobId, status);
  };

  test('behind the limit of its job names the limit and who holds it', async () => {
    const holder = await make({ name: 'one at a time', handler: 'hold', max_concurrency: 1 }, 'RUNNING');
    const { run_id: runId } = await stage.admin.jobs.runNow(holder.job_id);
    await page.goto(`/runs/${runId}`);
    await page.getByText(/may have 1 run at a time/).waitFor();
    await page.getByText('cancel one, or allow more runs at a time.').waitFor();
    await page.getByText('Place in the line: 1').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('list', { name: 'Runs that hold it' }).getByRole('link', { name: /^run/ }).click();
    await page.waitForURL(`**/runs/${holder.run_id}`);
    await page.getByText('running').first().waitFor();

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('[data-state="CANCELLED"]').first().waitFor();
    await runOf(holder.job_id, 'RUNNING');
  });

  test('for a handler that nobody offers names it and what to do', async () => {
    const run = await make({ name: 'pictures', handler: 'resize' }, 'QUEUED');
    await page.goto(`/runs/${run.run_id}`);
    await page.getByText('No worker offers the handler resize.').waitFor();
    await page.getByText('Start a worker that offers the handler.').waitFor();
    await page.getByRole('link', { name: 'Edit the job' }).waitFor();
  });

  test('is run again once by a double click, and [ and ] lead from one to the other', async () => {
    const run = await make({ name: 'twice', handler: 'ok' }, 'SUCCESS');
    await page.goto(`/runs/${run.run_id}`);
    await page.getByRole('button', { name: 'Run again', exact: true }).dblclick();
    await page.getByRole('button', { name: 'Run it again' }).dblclick();
    await page.waitForURL((url) => !url.pathname.endsWith(run.run_id));
    const again = await runOf(run.job_id, 'SUCCESS');
    expect(await stage.admin.jobs.runs(run.job_id).toArray()).toHaveLength(2);
    await page.waitForURL(`**/runs/${again.run_id}`);
    await page
      .getByRole('button', { name: 'Earlier run of this job' })
      .and(page.locator(':enabled'))
      .waitFor();
    await page.keyboard.press('[');
    await page.waitForURL(`**/runs/${run.run_id}`);
    await page.getByRole('button', { name: 'Later run of this job' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press(']');
    await page.waitForURL(`**/runs/${again.run_id}`);
  });

  test('is run again with another input, and not while that is no JSON', async () => {
    const run = await make({ name: 'with input', handler: 'ok', payload: { kept: 1, text: 'a' } }, 'SUCCESS');
    await page.goto(`/runs/${run.run_id}`);
    await page.getByRole('button', { name: 'Run again with …' }).click();
    const dialog = page.getByRole('dialog');
    const send = dialog.getByRole('button', { name: 'Run again' });
    await dialog.getByLabel('Input').fill('{"text": ');
    expect(await send.isDisabled()).toBe(true);
    await dialog.getByLabel('Input').fill('{"text": "b"}');
    await send.click();
    await page.waitForURL((url) => !url.pathname.endsWith(run.run_id));
    const added = new URL(page.url()).pathname.split('/').at(-1)!;
    expect((await stage.admin.runs.get(added)).input).toEqual({ text: 'b' });
  });

  test('whose name, log and error are markup shows them as text', async () => {
    const job = { name: MARKUP, handler: 'fail', payload: { text: MARKUP }, max_retries: 0 };
    const run = await make(job, 'FAILED');
    await page.goto(`/runs/${run.run_id}`);
    await page.getByRole('heading', { name: MARKUP }).waitFor();
    await page.getByRole('region', { name: 'Why it failed' }).getByText(MARKUP).waitFor();
    await page.getByRole('log').getByText(MARKUP).first().waitFor();
    await expectAccessibleInBothSchemes(page);
    for (const path of ['/', '/runs', '/dead']) {
      await page.goto(path);
      await page.getByText(MARKUP).first().waitFor();
    }
    expect(await page.locator('img').count()).toBe(0);
  });

  test('that writes 100 MB is followed, opened at its end, searched, and saved as a file', async () => {
    // Ten MiB of it are kept: the first eight and the last two.
    const script = `echo begin; head -c 100000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo written; ${UNTIL_TOLD}; echo done`;
    const run = await make(
      { name: 'talks', handler: 'script', payload: { interpreter: 'bash', script, args: [goOn] } },
      'RUNNING',
    );
    await page.goto(`/runs/${run.run_id}`);
    const log = page.getByRole('log');
    // The end, while it still runs: it follows what is written.
    await log.getByText('written', { exact: true }).waitFor({ timeout: LONG_MS });
    await page.getByText('following', { exact: true }).waitFor();
    await writeFile(goOn, '');
    await log.getByText('done', { exact: true }).waitFor();
    await page.getByText('complete', { exact: true }).waitFor();
    // A page that reads more slowly than the run writes is sent away, and goes on where it was.
    stage.forgiveFailedAnswers();
    expect(await log.evaluate((at) => at.scrollHeight - at.scrollTop - at.clientHeight)).toBeLessThan(60);

    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(`run-${run.run_id}.log`);
    const saved = await readFile(await file.path(), 'utf8');
    expect(saved).toMatch(/^# attempt 1, .*\n.*begin\n/);
    expect(saved).toMatch(/written\n.*done\n/);
    expect(saved.length).toBeGreaterThan(9_000_000);
    expect(saved).toMatch(/\d{8} bytes of output are left out here/);
    await page.reload();
    await page.getByText('complete', { exact: true }).waitFor();
    await log.evaluate((element) => element.scrollTo({ top: 0 }));
    await log.getByText('begin', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'To the end' }).click();
    await log.getByText('begin', { exact: true }).waitFor({ state: 'detached' });
    await page.getByLabel('Find in the log').fill('left out');
    await log.getByText(/bytes of output are left out here/).waitFor();
    await page.getByLabel('Find in the log').fill('begin');
    await log.getByText('begin', { exact: true }).waitFor();
    await log.getByText('xxxxx').first().waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('begin');
  });

  test('whose log is too long says where it was cut', async () => {
    const run = await make({ name: 'long', handler: 'long' }, 'SUCCESS');
    await page.goto(`/runs/${run.run_id}`);
    const log = page.getByRole('log');
    await log.getByText('the end', { exact: true }).waitFor();
    await page.getByLabel('Find in the log').fill('left out');
    const lines = log.locator('[data-kind=line]');
    const cut = lines.and(log.locator('[data-stream=system]'));
    await cut.getByText(/^\d{7} bytes of output are left out here:/).waitFor();
    expect(await lines.count()).toBe(1);
    expect(await cut.textContent()).toMatch(/^\d\d:\d\d:\d\dnote\d{7} bytes/);
    await page.getByLabel('Find in the log').fill('the ');
    await log.getByText('the end', { exact: true }).waitFor();
    // It stands between what is kept of both ends.
    expect(await lines.allTextContents()).toEqual([
      expect.stringContaining('the beginning'),
      expect.stringContaining('left out here'),
      expect.stringContaining('the end'),
    ]);
    await expectAccessibleInBothSchemes(page);
  });

  test('that is a script shows its lines as they are written, and that it was cancelled', async () => {
    const script = 'for i in $(seq 1 2000); do echo "line $i"; sleep 0.1; done';
    const run = await make(
      { name: 'slow', handler: 'script', payload: { interpreter: 'bash', script } },
      'RUNNING',
    );
    await page.goto(`/runs/${run.run_id}`);
    await page.getByRole('log').getByText('line 1', { exact: true }).waitFor();
    await page.getByRole('log').getByText('line 12', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cancel the run' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[data-state="CANCELLED"]').first().waitFor();
    await page.getByRole('button', { name: 'Run again', exact: true }).waitFor();
  });

  test('tells that it cannot be read', async () => {
    const run = await make({ name: 'unread', handler: 'ok' }, 'SUCCESS');
    await page.goto('about:blank');
    const mend = await breakAnswers(page, new RegExp(`/api/runs/${run.run_id}`));
    await page.goto(`/runs/${run.run_id}`);
    await page.getByText('The database does not answer.').first().waitFor();
    await mend();
    await tryAgain(page);
    await page.getByRole('heading', { name: 'unread' }).waitFor();
    stage.forgiveFailedAnswers();
  });

  test('can only be looked at by viewers, and not at all in other namespaces', async () => {
    const [mine, others] = await Promise.all([
      make({ name: 'of default', handler: 'ok' }, 'SUCCESS'),
      make({ name: 'of other', namespace: 'other', handler: 'ok' }, 'SUCCESS'),
    ]);
    const grants = [{ namespace: 'default', role: 'viewer' }];
    const viewer = await stage.signedIn('vic', grants, `/runs/${mine.run_id}`);
    const again = viewer.getByRole('button', { name: 'Run again', exact: true });
    await again.waitFor();
    expect(await again.getAttribute('aria-disabled')).toBe('true');
    await again.focus();
    await viewer.keyboard.press('Shift+Tab');
    await viewer.keyboard.press('Tab');
    await viewer.getByRole('tooltip').getByText('Needs the role operator in default').waitFor();
    await viewer.goto(`/runs/${others.run_id}`);
    await viewer.getByText('There is no such run').waitFor();
    expect(await viewer.getByText('of other').count()).toBe(0);
    const statuses = await viewer.evaluate(
      async ([own, foreign]) => {
        const { csrf_token: token } = (await (await fetch('/api/session')).json()) as { csrf_token: string };
        const ask = async (method: string, path: string) =>
          (await fetch(`/api${path}`, { method, headers: { 'x-csrf-token': token } })).status;
        return [
          await ask('POST', `/runs/${own}/rerun`),
          await ask('GET', `/runs/${foreign}`),
          await ask('GET', `/runs/${foreign}/logs`),
          await ask('GET', `/runs/${foreign}/why`),
        ];
      },
      [mine.run_id, others.run_id],
    );
    expect(statuses).toEqual([403, 404, 404, 404]);
    await viewer.context().close();
  });

  test('whose id is none says only that', async () => {
    await page.goto('/runs/abc');
    await page.getByText('abc is not the id of a run.').waitFor();
    expect(await page.getByRole('main').textContent()).not.toContain('removed');
  });

  test('fits a narrow screen', async () => {
    const run = await make({ name: 'narrow', handler: 'ok' }, 'SUCCESS');
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`/runs/${run.run_id}`);
    await page.getByRole('heading', { name: 'narrow' }).waitFor();
    await expectFits(page);
  });
});
