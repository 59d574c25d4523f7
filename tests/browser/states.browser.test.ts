/**
 * Every screen while its answer is awaited, when it is refused and once it is there; without data; and for people who may not use it.
 * Answers are held back and refused at the border of the browser: as by a slow network, and by a server that is away.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  breakAnswers,
  expectAccessible,
  hasBrowser,
  type Page,
  PageStage,
  signIn,
  tryAgain,
} from './stage.ts';

const WAIT = { withinMs: 60_000 };
/** Names, errors, lines and payloads of the namespace `default`. */
const OF_DEFAULT = /copy tapes|the tape is full|begin|kept apart|nightly/;
const FAR = '2099-01-01T00:00:00Z';

interface Screen {
  readonly name: string;
  readonly path: (ids: Ids) => string;
  /** What it asks first. */
  readonly asks: RegExp;
  /** A text that is there with the answer alone. */
  readonly shows: string;
  /** What stands there meanwhile, instead of a skeleton. */
  readonly waits?: string;
  /** Nothing else is on the screen before it is answered. */
  readonly isWhole?: true;
}

interface Ids {
  readonly job: string;
  readonly nightly: string;
  readonly run: string;
  readonly worker: string;
}

const job = ({ job: id }: Ids) => `/jobs/${id}`;
const SCREENS: readonly Screen[] = [
  {
    name: 'overview',
    path: () => '/',
    asks: /\/api\/(stats|failures|jobs\/upcoming)\b/,
    shows: 'the tape is full',
  },
  { name: 'jobs', path: () => '/jobs', asks: /\/api\/jobs\?/, shows: 'copy tapes' },
  { name: 'job', path: job, asks: /\/api\/jobs\/[^/?]+$/, shows: 'Run now', isWhole: true },
  { name: 'runs of a job', path: job, asks: /\/api\/runs\?/, shows: 'failed' },
  {
    name: 'next fires',
    path: ({ nightly }) => `/jobs/${nightly}`,
    asks: /\/api\/schedules\/preview/,
    shows: 'Skip',
  },
  {
    name: 'calendar',
    path: ({ nightly }) => `/jobs/${nightly}?tab=calendar`,
    asks: /\/api\/schedules\/preview/,
    shows: 'Mon',
  },
  { name: 'versions', path: (ids) => `${job(ids)}?tab=versions`, asks: /\/versions\b/, shows: 'made it' },
  {
    name: 'edit',
    path: (ids) => `${job(ids)}/edit`,
    asks: /\/api\/jobs\/[^/?]+$/,
    shows: 'Edit copy tapes',
    isWhole: true,
  },
  {
    name: 'copy',
    path: (ids) => `/jobs/new?from=${ids.job}`,
    asks: /\/api\/jobs\/[^/?]+$/,
    shows: 'New job',
    isWhole: true,
  },
  { name: 'runs', path: () => '/runs', asks: /\/api\/runs\?/, shows: 'copy tapes' },
  {
    name: 'run',
    path: ({ run }) => `/runs/${run}`,
    asks: /\/api\/runs\/[^/?]+$/,
    shows: 'Why it failed',
    isWhole: true,
  },
  {
    name: 'log',
    path: ({ run }) => `/runs/${run}`,
    asks: /\/logs\b/,
    shows: 'begin',
    waits: 'Reading what it wrote',
  },
  { name: 'dead letters', path: () => '/dead', asks: /\/api\/dead-letters\?/, shows: 'copy tapes' },
  { name: 'workers', path: () => '/workers', asks: /\/api\/workers\?/, shows: '1 alive' },
  {
    name: 'worker',
    path: ({ worker }) => `/workers/${worker}`,
    asks: /\/api\/workers\//,
    shows: 'Last beat',
    isWhole: true,
  },
  { name: 'sessions', path: () => '/settings/me', asks: /\/api\/sessions\b/, shows: 'this one' },
  { name: 'namespaces', path: () => '/settings/namespaces', asks: /\/api\/namespaces\?/, shows: 'other' },
  { name: 'users', path: () => '/settings/users', asks: /\/api\/users\?/, shows: 'admin@*' },
  { name: 'keys', path: () => '/settings/keys', asks: /\/api\/keys\?/, shows: 'of a program' },
  {
    name: 'secrets',
    path: () => '/settings/secrets?ns=default',
    asks: /\/api\/secrets\?/,
    shows: 'api-token',
  },
  { name: 'audit', path: () => '/settings/audit', asks: /\/api\/audit\?/, shows: 'jobs.create' },
];

/** Side by side, in tabs of one browser: most of a screen's time here is waiting. */
const AT_ONCE = [0, 7, 14].map((from) => {
  const screens = SCREENS.slice(from, from + 7);
  return { screens, names: screens.map(({ name }) => name).join(', ') };
});

describe.skipIf(!hasBrowser())('every screen', () => {
  let stage: PageStage;
  let page: Page;
  let folder: string;
  let ids: Ids;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'carillon-states-'));
    const keyFile = join(folder, 'secrets.key');
    await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    stage = await PageStage.open({
      settings: { secrets: { key_file: keyFile } },
      handlers: {
        tape: ({ log }) => {
          log.info('begin');
          throw new Error('the tape is full');
        },
      },
    });
    await stage.admin.namespaces.create({ name: 'other' });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }]);
  });
  afterEach(() => {
    stage.forgiveFailedAnswers();
    stage.expectNothingWrong();
  });
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  const main = (of = page) => of.locator('main');

  test('says what to do next where there is nothing yet', async () => {
    const { job_id: resting } = await stage.admin.jobs.create({
      name: 'rests',
      schedule_time: FAR,
      handler: 'tape',
    });
    await forgetChanges(stage.databaseUrl, resting);
    const empty = [
      ['/jobs?ns=other', 'No jobs yet', /carillon.* jobs create/],
      [`/jobs/${resting}`, 'It has not run yet', /Run it now/],
      [`/jobs/${resting}?tab=versions`, 'No change is recorded', /from now on/],
      ['/runs', 'Nothing has run yet', /job/],
      ['/dead', 'No dead letters', /No run was given up/],
      ['/settings/secrets?ns=default', 'No secrets in default', /carillon.* secrets set/],
      ['/settings/audit?actor=nobody', 'No entry matches', /Clear filters/],
    ] as const;
    for (const [path, title, next] of empty) {
      await page.goto(path);
      await page.getByRole('heading', { name: title, exact: true }).waitFor();
      await main().getByText(next).first().waitFor();
    }
    await stage.admin.jobs.remove(resting);
  });

  test('tells of the sign-in that the ways to do it could not be read', async () => {
    const { page: visitor } = await stage.visitor();
    const mend = await breakAnswers(visitor, /\/api\/session\/methods/);
    await visitor.goto('/login');
    await visitor.getByText('The database does not answer.').waitFor();
    await expectAccessible(visitor);
    await mend();
    await tryAgain(visitor);
    await visitor.getByText('The database does not answer.').waitFor({ state: 'detached' });
    await signIn(visitor, 'ada');
  });

  test('has data now', async () => {
    ids = await fill(stage);
  });

  test.each(AT_ONCE)(
    'wait, tell that they were refused, and show their answers: $names',
    async ({ screens }) => {
      const look = async (screen: Screen) => {
        const at = await page.context().newPage();
        stage.watch(at);
        await showStates(at, screen, ids).catch((error: unknown) => {
          throw new Error(`${screen.name}: ${(error as Error).message}`, { cause: error });
        });
        await at.close();
      };
      await Promise.all(screens.map(look));
    },
  );

  test('tells viewers which role they lack, and asks nothing on their behalf', async () => {
    const viewer = await stage.signedIn('vic', [{ namespace: 'default', role: 'viewer' }], '/jobs');
    const refused: string[] = [];
    viewer.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    await viewer
      .getByRole('row', { name: /copy tapes/ })
      .getByRole('checkbox')
      .check();
    const bar = viewer.getByRole('region', { name: 'Selected jobs' });
    for (const name of ['Pause', 'Resume', 'Cancel'])
      expect(await bar.getByRole('button', { name, exact: true }).getAttribute('aria-disabled')).toBe('true');
    await bar.getByRole('button', { name: 'Pause' }).click({ force: true });
    expect(await viewer.getByRole('dialog').count()).toBe(0);
    await bar.getByRole('button', { name: 'Pause' }).hover();
    await viewer.getByRole('tooltip').getByText('Needs the role operator').waitFor();

    for (const [path, why] of [
      [`/jobs/${ids.job}/edit`, 'Needs the role editor in default'],
      [`/jobs/new?from=${ids.job}`, 'Needs the role editor'],
      ['/settings/users', 'Needs the role admin in all namespaces'],
      ['/settings/secrets', 'Needs the role'],
      ['/settings/audit', 'Needs the role'],
      ['/workers', 'Needs the role'],
      [`/workers/${ids.worker}`, 'Needs the role'],
    ] as const) {
      await viewer.goto(path);
      await viewer.getByRole('heading', { name: 'This page is not for you' }).waitFor();
      await main(viewer).getByText(why).waitFor();
    }
    await viewer.goto('/settings/keys');
    await main(viewer).getByRole('heading', { name: 'No keys' }).waitFor();
    expect(refused).toEqual([]);
  });

  test('shows nothing of a namespace to people of another one, whatever address they open', async () => {
    const editor = await stage.signedIn('eve', [{ namespace: 'other', role: 'editor' }], '/jobs');
    await editor.getByRole('heading', { name: 'No jobs yet' }).waitFor();
    const answers: Promise<string>[] = [];
    editor.on('response', (response) => {
      if (
        response.url().includes('/api/') &&
        !response.headers()['content-type']?.startsWith('text/event-stream')
      )
        answers.push(response.text().catch(() => ''));
    });
    const { job, nightly, run } = ids;
    for (const [path, shown] of [
      [`/jobs/${job}`, 'There is no such job'],
      [`/jobs/${job}?tab=definition`, 'There is no such job'],
      [`/jobs/${job}?tab=versions`, 'There is no such job'],
      [`/jobs/${nightly}?tab=calendar`, 'There is no such job'],
      [`/jobs/${job}/edit`, 'There is no such job'],
      [`/jobs/new?from=${job}`, `There is no job ${job}.`],
      ['/jobs?ns=default', 'There is no namespace default.'],
      [`/runs/${run}`, 'There is no such run'],
      [`/runs/${run}?tab=payload`, 'There is no such run'],
      [`/runs?job=${job}`, `There is no job ${job}.`],
      [`/dead?job=${job}`, 'No dead letters of this job'],
    ] as const) {
      await editor.goto(path);
      await main(editor).getByText(shown).first().waitFor();
      expect(await editor.locator('body').textContent()).not.toMatch(OF_DEFAULT);
    }
    // What the page does not ask for, because it was refused the job or the run before.
    const direct = [
      ...['', '/versions', '/why', '/runs', '/logs', '/status'].map((part) => `jobs/${job}${part}`),
      ...['', '/logs', '/why', '/result', '/checkpoint'].map((part) => `runs/${run}${part}`),
      ...[
        `dead-letters/${run}`,
        `jobs/strips?ids=${job}`,
        'search?q=copy',
        `search?q=${run}`,
        `failures?namespace=default`,
      ],
    ];
    answers.push(
      editor.evaluate(
        (paths) =>
          Promise.all(paths.map(async (path) => (await fetch(`/api/${path}`)).text())).then((all) =>
            all.join(),
          ),
        direct,
      ),
    );
    const said = (await Promise.all(answers)).join();
    expect(said).toContain(job);
    expect(said).not.toMatch(OF_DEFAULT);
  });
});

async function showStates(page: Page, screen: Screen, ids: Ids): Promise<void> {
  const main = page.locator('main');
  const held = Promise.withResolvers<void>();
  await page.route(screen.asks, async (route) => {
    await held.promise;
    await route.fulfill(REFUSED);
  });
  await page.goto(screen.path(ids));
  const waiting =
    screen.waits === undefined
      ? main.locator('[aria-busy=true] .mantine-Skeleton-root')
      : main.getByText(screen.waits);
  await waiting.first().waitFor();
  held.resolve();
  const alert = main.getByRole('alert').filter({ hasText: 'The database does not answer.' }).first();
  await alert.getByText('Try again in a moment.').waitFor();
  if (screen.isWhole) await expectAccessible(page);
  await page.unroute(screen.asks);
  await tryAgain(page);
  await main.getByText(screen.shows).first().waitFor();
  await alert.waitFor({ state: 'detached' });
}

const REFUSED = {
  status: 503,
  contentType: 'application/problem+json',
  body: JSON.stringify({
    code: 'storage_unavailable',
    detail: 'The database does not answer.',
    fix: 'Try again later.',
  }),
};

/** As after the time for which changes are kept. */
async function forgetChanges(databaseUrl: string, jobId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('DELETE FROM audit_log WHERE subject_id = $1', [jobId]);
  await client.end();
}

async function fill({ admin }: PageStage): Promise<Ids> {
  const { job_id: job } = await admin.jobs.create({
    name: 'copy tapes',
    handler: 'tape',
    payload: { mark: 'kept apart' },
    max_retries: 0,
  });
  const { job_id: nightly } = await admin.jobs.create({
    name: 'nightly',
    handler: 'tape',
    cron_expression: '0 3 * * *',
  });
  await admin.secrets.set('api-token', 'not to be seen', { namespace: 'default' });
  await admin.keys.create({ name: 'of a program', namespace: 'default', role: 'viewer' });
  const letter = await eventually(async () => {
    const [found] = await admin.deadLetters.list({ job_id: job }).toArray();
    expect(found).toBeDefined();
    return found!;
  }, WAIT);
  const [worker] = await admin.workers.list().toArray({ max: 1 });
  return { job, nightly, run: letter.run_id, worker: worker!.worker_id };
}
