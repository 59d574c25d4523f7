import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { hasBrowser, type Page, PageStage } from './stage.ts';

const WAIT = { withinMs: 120_000 };
/** More than a list keeps. */
const JOBS = 2_300;
const ROWS_KEPT_MAX = 2_000;
const HEAP_BYTES_MAX = 200e6;

describe.skipIf(!hasBrowser())('the page with very many rows', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    stage = await PageStage.open({ handlers: { ok: () => 'done' } });
    const at = new Date(Date.now() + 30 * 86_400_000).toISOString();
    await stage.admin.jobs.createMany(
      Array.from({ length: JOBS }, (_, n) => ({
        ...{ name: `job ${n}.`, handler: 'ok', schedule_type: 'FUTURE' as const, schedule_time: at },
      })),
    );
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/jobs', {
      height: 3_000,
    });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  /** Scrolls on until the row is there; answers what stood in each row on the way, and the most rows that were kept. */
  const scrollTo = (last: number) =>
    page.evaluate<{ seen: Record<number, string>; kept: number }>(`(async () => {
      const frame = document.querySelector('[role=table][aria-label=Jobs]');
      const seen = {};
      let kept = 0;
      for (let frames = 0; frames < 100000; frames += 1) {
        const rows = [...frame.querySelectorAll('[data-id]')];
        for (const each of rows) seen[each.ariaRowIndex - 1] = (/job \\d+\\./.exec(each.textContent) ?? [''])[0];
        kept = Math.max(kept, Number((/(\\d+) shown/.exec(document.body.textContent) ?? [])[1] ?? 0));
        if (seen[${last}] !== undefined) break;
        // Rows that were let go come a moment after they are scrolled to.
        const isRead = rows.length > 0 && (rows[0].ariaRowIndex - 2) * 36 <= frame.scrollTop;
        if (isRead) frame.scrollTop += ${last} === 1 ? -frame.clientHeight : frame.clientHeight;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      }
      return { seen, kept };
    })()`);
  /** Rows count from 1, the newest job is first. */
  const expectRows = (seen: Readonly<Record<number, string>>, from: number, to: number) => {
    const wanted = Array.from({ length: to - from + 1 }, (_, i) => `${from + i}: job ${JOBS - from - i}.`);
    expect(
      wanted.filter((text) => `${text.split(':')[0]}: ${seen[Number(text.split(':')[0])]}` !== text),
    ).toEqual([]);
  };

  test('a list scrolls to its end without a gap, and keeps a bounded part', async () => {
    await page.getByRole('table', { name: 'Jobs' }).locator('[data-id]').first().waitFor();
    const down = await scrollTo(JOBS);
    expectRows(down.seen, 1, JOBS);
    expect(down.kept).toBeLessThanOrEqual(ROWS_KEPT_MAX);
    expect(down.kept).toBeGreaterThan(ROWS_KEPT_MAX / 2);
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    expect(usedSize).toBeLessThan(HEAP_BYTES_MAX);
  }, 600_000);

  test('rows far down change where they stand', async () => {
    const row = page.locator(`[data-id][aria-rowindex="${JOBS - 20}"]`);
    const name = /job \d+\./.exec((await row.textContent())!)![0];
    const [job] = await stage.admin.jobs.list({ text: name, limit: 1 }).toArray({ max: 1 });
    await stage.admin.jobs.pause(job!.job_id);
    await row.getByText('paused').first().waitFor();
    expect(await row.textContent()).toContain(name);
  }, 600_000);

  test('Back leads to the rows far down, and from there to the top without a gap', async () => {
    const row = page.locator(`[data-id][aria-rowindex="${JOBS - 20}"]`);
    const name = /job \d+\./.exec((await row.textContent())!)![0];
    await row.getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.goBack();
    await row.filter({ hasText: name }).waitFor();
    const up = await scrollTo(1);
    expectRows(up.seen, 1, JOBS - 100);
    expect(up.kept).toBeLessThanOrEqual(ROWS_KEPT_MAX);
  }, 600_000);

  test('a filter that finds nothing is not searched for without end', async () => {
    await page.goto('/jobs?text=no%20such%20name');
    await page.getByRole('heading', { name: 'No job matches' }).waitFor();
  });

  test('while very many runs end, messages and requests stay few, and the page can be used', async () => {
    await page.goto('/runs');
    const requests: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      // How many pages a list has read is not counted, but how often it is read.
      if (!searchParams.has('cursor')) requests.push(pathname);
    });
    const end = new AbortController();
    let messages = 0;
    let isFull = false;
    const counting = (async () => {
      for await (const update of stage.admin.live({ signal: end.signal })) {
        messages += 1;
        isFull ||= update.refetch;
      }
    })().catch(() => undefined);
    const beganMs = performance.now();
    const rounds = 10;
    for (let round = 0; round < rounds; round += 1)
      await stage.admin.jobs.createMany(
        Array.from({ length: 1_000 }, () => ({ name: `burst ${round}`, handler: 'ok' })),
      );
    // Used while they run.
    await page.getByLabel('Part of the error').fill('no such error');
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.locator('[data-id]').first().waitFor();
    await eventually(async () => {
      const { waiting_at_least: waiting } = (await stage.admin.stats.now()) as { waiting_at_least: number };
      expect(waiting).toBe(0);
    }, WAIT);
    const seconds = (performance.now() - beganMs) / 1_000;
    end.abort();
    await counting;
    expect(isFull).toBe(true);
    // One a second; the first comes at once.
    expect(messages).toBeLessThanOrEqual(seconds + 2);
    // Every two seconds at most, and for each of the three things that were done above, twice where something changed meanwhile.
    expect(requests.filter((path) => path === '/api/runs').length).toBeLessThanOrEqual(seconds / 2 + 11);
  }, 600_000);
});
