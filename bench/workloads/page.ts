/**
 * The dashboard over a million jobs and ten million runs: every request of every screen, on a server with nothing else to do and on one
 * that runs thousands of jobs a second meanwhile; what an open page costs the drain, and what a thousand of them cost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Carillon } from '../../packages/client/src/index.ts';
import { type Called, startCalled } from '../call-process.ts';
import { bound, type Finding, findingsOf } from '../findings.ts';
import { median } from '../median.ts';
import { type Browsing, openBrowsing, type ScreenFigures } from '../page/browser-figures.ts';
import { checkCounts } from '../page/check-counts.ts';
import { fillPageStore } from '../page/fill-page-store.ts';
import { measureRequests, nameOf, type RequestFigures } from '../page/measure-requests.ts';
import { pageRequests, viewedNamespace } from '../page/page-requests.ts';
import type { PageServerCalls } from '../page/page-server.ts';
import { PlannedStore } from '../page/planned-store.ts';
import { openStreams, openTab } from '../page/tabs.ts';
import { readCpu } from '../process-use.ts';
import { onConnection, onDatabase, type Store } from '../stores.ts';
import { count, milliseconds } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

type PageServer = Called<PageServerCalls>;

const answerMsMax = 200;
const delayMsMax = 2_000;
const paintMsMax = 1_000;
const framesMin = 50;
const framesSeconds = 5;
const drainSlots = 2_000;
const streamsPerCaller = 50;
const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

const claims = {
  idle: bound('D3', 'the slowest request, p95, nothing else going on', { below: answerMsMax }, milliseconds),
  loaded: bound('D3', 'the slowest request, p95, with 5,000 runs/s', { below: answerMsMax }, milliseconds),
  delay: bound('P3', 'start delay meanwhile, p99', { below: delayMsMax }, milliseconds),
  drain: bound('P1', 'drain with an open page / without', { atLeast: 0.95 }, percent),
  streams: bound('D3', '1,000 streams with 5,000 runs/s: share of one core', { below: 0.25 }, percent),
  paint: bound('D3', 'first paint of the page with an empty cache', { below: paintMsMax }, milliseconds),
  screens: bound(
    'D3',
    'the slowest screen in a browser until its data stands',
    { below: paintMsMax },
    milliseconds,
  ),
  frames: bound('D3', 'frames a second of the list of runs with 5,000 runs/s', { atLeast: framesMin }),
} as const;

type Figures = Awaited<ReturnType<typeof measure>>;

export const page: CarillonWorkload = {
  name: 'page',
  summary: 'every request of the dashboard with 1 million jobs and 10 million runs, idle and under load',

  async run(run): Promise<CarillonOutcome> {
    let figures: Figures | null = null;
    const table: string[][] = [];
    const findings = await findingsOf(
      Object.values(claims),
      async () => {
        const measured = await onDatabase(run.urls, (store) => measure(run, store));
        figures = measured;
        table.push(...tableOf(measured));
        return judge(measured);
      },
      (reason) => run.log(`page: FAILED: ${reason}`),
    );
    return {
      method:
        'A store with recurring jobs, jobs that ran once and jobs to come, and the runs of 28 days with their failures, dead letters and counts, all checked against what was put in. Requests one at a time through the client that the page uses, round by round; answers are checked. Under load: 5,000 jobs/s come in and are run by the same server meanwhile. Drain: jobs/s from the first start until all are recorded, median of interleaved rounds in alternating order, the store brought to rest before each, with and without a tab that shows the overview and reads it again every two seconds. In a browser: Chromium on the same machine, signed in; the first paint by its own paint timing, a screen until nothing of it waits any more, and frames counted by the page under the same load. Streams: processor time of server and database beside the same load without them.',
      machineParts: ['node-apart', 'postgres'],
      table,
      findings,
      figures,
    };
  },
};

async function measure(run: CarillonRun, store: Store) {
  const { settings, log, abort } = run;
  const { quick } = settings;
  const plan = new PlannedStore({
    jobs: Math.min(settings.scale, quick ? 20_000 : 1_000_000),
    runs: Math.min(settings.history, quick ? 200_000 : 10_000_000),
    nowMs: Date.now(),
  });
  const fillSeconds = await fill(run, store, plan);
  return onPageServer(run, store, async (server) => {
    const { address, adminKey } = await server.call('start', { slots: settings.slots });
    const admin = new Carillon({ url: address, key: adminKey, retriesMax: 0 });
    const clients = { admin, viewer: await viewerOf(admin, address) };
    const requests = await pageRequests(admin, plan);
    log(`page: ${requests.length} requests, ${quick ? 3 : 20} times each`);
    const measureAll = (isAsFilled: boolean) =>
      measureRequests(requests, { clients, times: quick ? 3 : 20, isAsFilled, abort });
    const idle = await measureAll(true);
    const browsing = await openBrowsing({ address, adminKey });
    const screens = browsing && (await measureScreens(browsing, plan));
    log(`page: slowest, idle: ${worstWords(idle)}`);
    const perSecond = quick ? 500 : 5_000;
    const { result: loaded, load } = await underLoad(server, perSecond, () => measureAll(false));
    const frames =
      browsing &&
      (await underLoad(server, perSecond, () => browsing.framesPerSecond('/runs', framesSeconds))).result;
    await browsing?.close();
    const inBrowser = browsing && screens && frames !== undefined ? { ...screens, frames } : null;
    if (inBrowser)
      log(`page: first paint ${milliseconds(inBrowser.firstPaintMs)}, ${count(frames!)} frames/s`);
    log(`page: slowest, with ${count(load.perSecond)} runs/s: ${worstWords(loaded)}`);
    const streams = await measureStreams(run, { server, admin, address, perSecond });
    await server.call('stop', null);
    const drains = await measureDrains(run, server, store);
    return { jobs: plan.jobs, runs: plan.runs, fillSeconds, idle, loaded, load, inBrowser, streams, drains };
  });
}

/** As somebody looks around, each screen in a tab of its own. */
async function measureScreens(
  browsing: Browsing,
  plan: PlannedStore,
): Promise<{ firstPaintMs: number; screens: ScreenFigures[] }> {
  const busy = plan.job(0).jobId;
  const paths = ['/', '/?range=7d', '/jobs', `/jobs/${busy}`, '/runs', '/runs?status=FAILED', '/dead'];
  const screens: ScreenFigures[] = [];
  for (const path of [...paths, `/runs/${plan.run(plan.runs - 1).runId}`, '/workers', '/settings/audit'])
    screens.push(await browsing.screen(path));
  return { firstPaintMs: browsing.firstPaintMs, screens };
}

async function fill({ log, abort }: CarillonRun, store: Store, plan: PlannedStore): Promise<number> {
  log(`page: filling a database with ${count(plan.jobs)} jobs and ${count(plan.runs)} runs`);
  const startedAt = performance.now();
  await fillPageStore({ databaseUrl: store.env.databaseUrl, plan, abort });
  await store.settle();
  const fillSeconds = (performance.now() - startedAt) / 1_000;
  await onConnection(store.env.databaseUrl, checkCounts);
  log(`page: filled in ${count(fillSeconds)} s; the counts say the same as the history`);
  return fillSeconds;
}

async function onPageServer<T>(
  { abort }: CarillonRun,
  store: Store,
  use: (server: PageServer) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-page-'));
  const server = startCalled<PageServerCalls>(new URL('../page/page-server.ts', import.meta.url), {
    env: { DATABASE_URL: store.env.databaseUrl, DATA_FOLDER: folder },
    abort,
  });
  try {
    return await use(server);
  } finally {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function viewerOf(admin: Carillon, url: string, namespace = viewedNamespace): Promise<Carillon> {
  const { key } = await admin.keys.create({ name: `viewer of ${namespace}`, namespace, role: 'viewer' });
  return new Carillon({ url, key, retriesMax: 0 });
}

async function underLoad<T>(server: PageServer, perSecond: number, work: () => Promise<T>) {
  await server.call('beginLoad', { perSecond });
  const result = await work();
  const load = await server.call('endLoad', null);
  if (load.ran !== load.created) throw new Error(`not correct: ${load.ran} of ${load.created} jobs ran`);
  return { result, load };
}

/** The same load, first without and then with streams. */
async function measureStreams(
  { settings, postgresPid, log }: CarillonRun,
  scene: { server: PageServer; admin: Carillon; address: string; perSecond: number },
) {
  const { server, admin, address, perSecond } = scene;
  const streamCount = settings.quick ? 50 : 1_000;
  const seconds = settings.quick ? 3 : 20;
  const clients: Carillon[] = [];
  for (let i = 0; i < Math.ceil(streamCount / streamsPerCaller); i += 1)
    clients.push(await viewerOf(admin, address, '*'));
  const usedShare = async () => {
    const sources = { storePid: postgresPid, systemPids: [server.pid] };
    const [before, own] = [readCpu(sources), process.cpuUsage()];
    await sleep(seconds * 1_000);
    const [after, { user, system }] = [readCpu(sources), process.cpuUsage(own)];
    if (before === null || after === null) throw new Error('reads /proc, which only Linux has');
    // readCpu counts this process too, which plays the browsers.
    const usedMs =
      after.storeMs - before.storeMs + after.systemMs - before.systemMs - (user + system) / 1_000;
    return usedMs / (seconds * 1_000);
  };
  const { result } = await underLoad(server, perSecond, async () => {
    const without = await usedShare();
    const streams = await openStreams(clients, streamCount);
    const before = streams.messages();
    const withStreams = await usedShare();
    const messages = streams.messages() - before;
    await streams.close();
    return {
      streams: streamCount,
      without,
      withStreams,
      messagesPerSecond: messages / streamCount / seconds,
    };
  });
  log(
    `page: ${count(streamCount)} streams: ${percent(result.without)} of a core without, ${percent(result.withStreams)} with`,
  );
  // A message a second is the promise; one more may lie at either end of the watch.
  if (result.messagesPerSecond > 1 + 1 / seconds)
    throw new Error(`not correct: ${result.messagesPerSecond} messages a second on each stream`);
  return result;
}

async function measureDrains({ settings, log }: CarillonRun, server: PageServer, store: Store) {
  const drains: Record<'alone' | 'watched', number[]> = { alone: [], watched: [] };
  for (let round = 0; round <= settings.rounds; round += 1) {
    const kinds = ['alone', 'watched'] as const;
    // The store grows meanwhile: neither is always the later one.
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      await server.call('create', { jobs: settings.quick ? 5_000 : 600_000 });
      await store.settle();
      const { address, adminKey } = await server.call('start', { slots: drainSlots });
      const close =
        kind === 'watched'
          ? openTab(new Carillon({ url: address, key: adminKey, retriesMax: 0 }))
          : undefined;
      const perSecond = await server.call('drained', null);
      const requests = await close?.();
      await server.call('stop', null);
      log(`page: drained ${count(perSecond)}/s${requests === undefined ? '' : ` with ${requests} requests`}`);
      // The first round warms the code up.
      if (round > 0) drains[kind].push(perSecond);
    }
  }
  return drains;
}

function judge({ idle, loaded, load, inBrowser, streams, drains }: Figures): Finding[] {
  return [
    claims.idle.judge(worst(idle).p95Ms, worstWords(idle)),
    claims.loaded.judge(worst(loaded).p95Ms, worstWords(loaded)),
    claims.delay.judge(load.p99Ms),
    claims.drain.judge(median(drains.watched) / median(drains.alone)),
    claims.streams.judge(streams.withStreams - streams.without),
    ...judgeBrowser(inBrowser),
  ];
}

function judgeBrowser(inBrowser: Figures['inBrowser']): Finding[] {
  const { paint, screens, frames } = claims;
  if (inBrowser === null)
    return [paint, screens, frames].map(({ bar, what, limit }) => ({
      ...{ bar, what, limit, measured: 'there is no Chromium', verdict: 'failed' as const },
    }));
  const slowest = inBrowser.screens.toSorted((a, b) => b.shownMs - a.shownMs)[0]!;
  return [
    paint.judge(inBrowser.firstPaintMs),
    screens.judge(slowest.shownMs, `${milliseconds(slowest.shownMs)} (${slowest.path})`),
    frames.judge(inBrowser.frames),
  ];
}

function worst(figures: readonly RequestFigures[]): RequestFigures {
  return figures.toSorted((a, b) => b.p95Ms - a.p95Ms)[0]!;
}

function worstWords(figures: readonly RequestFigures[]): string {
  const slowest = worst(figures);
  return `${milliseconds(slowest.p95Ms)} (${nameOf(slowest)})`;
}

/** The slowest under load first. */
function tableOf({ idle, loaded }: Figures): string[][] {
  const ms = (value: number) => (value < 10 ? `${value.toFixed(1)} ms` : milliseconds(value));
  const rows = loaded
    .map((figures, i) => ({ figures, before: idle[i]! }))
    .toSorted((a, b) => b.figures.p95Ms - a.figures.p95Ms)
    .map(({ figures, before }) => [
      nameOf(figures),
      ...[before.p50Ms, before.p95Ms, before.maxMs, figures.p50Ms, figures.p95Ms, figures.maxMs].map(ms),
    ]);
  return [['request', 'idle p50', 'p95', 'max', 'under load p50', 'p95', 'max'], ...rows];
}
