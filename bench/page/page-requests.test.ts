/**
 * The list of requests is held against the screens: each call that a screen makes is measured with the parameters that it has there,
 * or changes something.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Carillon } from '../../packages/client/src/index.ts';
import { pageRequests } from './page-requests.ts';
import { PlannedStore } from './planned-store.ts';

const screens = new URL('../../packages/dashboard/src/', import.meta.url);

/** Calls that change something, and those that only a person with a session of their own can make. */
const notAsked =
  /\.(create|update|remove|pause|resume|cancel|runNow|rerun|redrive|drain|undrain|open|close|end|set|setGrants|setPassword|revoke|rotate|skip|unskip|restore|putView|removeView|putPreferences)$/;
/** They only tell what would happen where they are told to. */
const tried = new Set(['jobs.bulk', 'runs.bulk', 'deadLetters.redriveMany']);
const options = new Set(['signal', 'onOpen', 'onLost']);
const ofOneself = new Set(['sessions.list', 'me.views', 'me.preferences']);
/** The log is read at once instead of followed: the end of a stream is told a second after the last line. */
const measuredAs: Readonly<Record<string, string>> = { 'runs.tailLogs': 'runs.logText' };

/** What screens put together elsewhere, each of which may be there or not. */
const putTogether: Readonly<Record<string, readonly string[]>> = {
  inNamespace: ['namespace'],
  'jobs.list jobFilterOf': [
    ...['namespace', 'status', 'type', 'handler', 'label', 'user_id', 'text', 'priority'],
  ],
  'runs.list filter': [
    ...['namespace', 'status', 'job_id', 'handler', 'worker_id', 'label', 'user_id', 'since', 'until'],
    ...['error', 'failure'],
  ],
  'deadLetters.list filter': ['namespace', 'reason', 'handler', 'job_id', 'user_id'],
  // What a form holds of a schedule is measured as a cron expression.
  'schedules.preview request': ['job_id', 'namespace', 'cron_expression', 'time_zone', 'after', 'until'],
  'schedules.preview schedule': ['job_id', 'namespace', 'cron_expression', 'time_zone'],
  // Asked in several parts, each by what was chosen.
  'jobs.bulk of': [],
  'runs.bulk of': [],
  'deadLetters.redriveMany of': [],
  'stats.overTime span': ['from', 'to'],
  'stats.failures span': ['from', 'to'],
  'workers.list filter': ['alive', 'handler', 'label'],
};

interface Call {
  readonly call: string;
  /** Together in one request. */
  readonly names: readonly string[];
  readonly parts: readonly string[];
  readonly file: string;
}

it('every question that the dashboard asks is among the requests that are measured, with its parameters', async () => {
  const asked = callsOfScreens();
  expect(asked.length).toBeGreaterThan(40);
  const measured = await measuredCalls();
  const missing: string[] = [];
  for (const { call, names, parts, file } of asked) {
    const requests = measured.get(measuredAs[call] ?? call) ?? [];
    if (!requests.some((sent) => names.every((name) => sent.has(name))))
      missing.push(`${file}: ${call}(${names.join(', ')})`);
    for (const part of parts)
      if (!requests.some((sent) => sent.has(part))) missing.push(`${file}: ${call} by ${part}`);
  }
  expect(missing).toEqual([]);
});

/** Of each call, the parameters that it is measured with. */
async function measuredCalls(): Promise<ReadonlyMap<string, readonly ReadonlySet<string>[]>> {
  const sent = new Map<string, Set<string>[]>();
  const client = recordingClient((call, given) => {
    const named =
      given.find((each) => typeof each === 'object' && each !== null && !Array.isArray(each)) ?? {};
    const names = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    sent.set(call, [...(sent.get(call) ?? []), new Set(names)]);
  });
  const plan = new PlannedStore({ jobs: 2_000, runs: 4_000, nowMs: Date.now() });
  for (const { send } of await pageRequests(client, plan)) await send(client);
  return sent;
}

/** Nobody answers: a request is what its caller asks for. */
function recordingClient(tell: (call: string, given: readonly unknown[]) => void): Carillon {
  const page = { items: [], cursor: undefined };
  const answer = () => {
    const list = { page: async () => page, pages: async function* none() {}, from: () => list };
    return Object.assign(Promise.resolve([]), list);
  };
  const at = (path: readonly string[]): unknown =>
    new Proxy(() => undefined, {
      get: (_, name) => at([...path, String(name)]),
      apply: (_, __, given) => {
        tell(path.join('.'), given);
        return answer();
      },
    });
  return at([]) as Carillon;
}

function callsOfScreens(): Call[] {
  return readdirSync(screens, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.ts$|commands\.ts$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, screens), 'utf8');
      return [...text.matchAll(/\bcarillon\s*((?:\.\w+\s*)+)\(/g)].flatMap((found) => {
        const call = found[1]!.replace(/\s/g, '').slice(1);
        if (notAsked.test(call) || ofOneself.has(call)) return [];
        const given = parts(inside(text, found.index + found[0].length - 1));
        const named = given.find((each) => isNamed(call, each)) ?? '';
        const read = parametersOf(call, named);
        return tried.has(call) && !read.names.includes('dry_run') ? [] : [{ call, file, ...read }];
      });
    });
}

/** An object, or what stands for one: options such as the signal come after it. */
function isNamed(call: string, given: string): boolean {
  return (given.includes('{') && !/^\{ signal \}$/.test(given)) || putTogetherOf(call, given) !== undefined;
}

function putTogetherOf(call: string, text: string): readonly string[] | undefined {
  const name = /^\w+/.exec(text)?.[0];
  return name === undefined ? undefined : (putTogether[`${call} ${name}`] ?? putTogether[name]);
}

/** The names in an object that is written there, and in those that are spread in it. */
function parametersOf(call: string, given: string): { names: string[]; parts: string[] } {
  const whole = putTogetherOf(call, given);
  if (whole) return { names: [], parts: [...whole] };
  const names: string[] = [];
  const among: string[] = [];
  for (let at = given.indexOf('{'); at !== -1; at = given.indexOf('{', at + inside(given, at).length + 2))
    for (const member of parts(inside(given, at))) {
      const spread = /^\.\.\.\s*(.*)$/s.exec(member)?.[1];
      if (spread === undefined) names.push(...(/^\w+/.exec(member) ?? []));
      else if (spread.includes('{')) {
        const inner = parametersOf(call, spread);
        // What is spread on a condition may be left out.
        (spread.startsWith('{') ? names : among).push(...inner.names);
        among.push(...inner.parts);
      } else {
        const known = putTogetherOf(call, spread);
        if (!known) throw new Error(`what is ...${spread} of ${call}? Name it in putTogether`);
        among.push(...known);
      }
    }
  return { names: names.filter((name) => !options.has(name)), parts: among };
}

/** What stands between the bracket at this place and the one that closes it. */
function inside(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if ('([{'.includes(text[at]!)) depth += 1;
    else if (')]}'.includes(text[at]!)) depth -= 1;
    if (depth === 0) return text.slice(from + 1, at);
  }
  throw new Error('a bracket is not closed');
}

/** Split at the commas that are in no bracket. */
function parts(text: string): string[] {
  const found: string[] = [''];
  let depth = 0;
  for (const letter of text) {
    if ('([{'.includes(letter)) depth += 1;
    else if (')]}'.includes(letter)) depth -= 1;
    if (letter === ',' && depth === 0) found.push('');
    else found[found.length - 1] += letter;
  }
  return found.map((part) => part.trim()).filter((part) => part !== '');
}
