/**
 * What people call things by: wherever an id is taken, the key of a job, a name that only one has, or the beginning of an id will do; the
 * key or name of a job also stands for its latest run. Only the namespace of the command or the context is looked at. What fits several is
 * refused with all of them; ids are never looked up, so that scripts cost no request more.
 */
import {
  type Carillon,
  CarillonError,
  type DeadLetter,
  type List,
  type ListedJob,
  type ListedRun,
} from '@carillon/client';
import type { Cli } from './cli.ts';
import type { Call, CommandSpec } from './command.ts';
import { UsageError } from './errors.ts';
import { firstRunOf } from './first-run.ts';
import {
  ambiguous,
  CANDIDATES_MAX,
  type Candidate,
  IN_NAMESPACES,
  LOOKED_THROUGH,
  type Named,
  notFound,
} from './name-refusals.ts';

/** What the value of an option names, by the field that it sets. */
const NAMED_OPTIONS: Readonly<Record<string, Named>> = {
  ...{ job_id: 'job', run_id: 'run', user_id: 'user', worker_id: 'worker', subject: 'subject' },
};

/** Those of workers have more behind it. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}([.@]|$)/i;
/** The beginning of a UUID. Ids begin with the time: six digits are a few hours. */
const ID_PREFIX = /^[0-9a-f]{6}(?:[0-9a-f]{0,2}|[0-9a-f]{2}-[0-9a-f-]{0,26})$/i;
/** To the millisecond at which it was made. */
const SHORT_LENGTH = 13;
const SIMILAR_MAX = 3;

/** The shortest beginnings that tell these ids apart, each long enough to be the only one for long. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const distinct = new Set(ids);
  for (let length = SHORT_LENGTH; length < 36; length += 1) {
    const short = (id: string) => id.slice(0, length).replace(/-$/, '');
    if (new Set([...distinct].map(short)).size === distinct.size) return short;
  }
  return (id) => id;
}

type AnyCall = Call<Record<string, unknown>>;

/** A call of a command, with ids in place of what its arguments and options call things by. */
export async function resolveCall(spec: CommandSpec, { args, options, cli }: AnyCall): Promise<AnyCall> {
  const { namespace } = options;
  const place = { cli, namespace: typeof namespace === 'string' ? namespace : undefined };
  const specs = spec.arguments ?? [];
  const resolved: string[] = [];
  for (const [i, given] of args.entries()) {
    // The last one may take several; one that may be left out is undefined.
    const { names, awaitedWith } = specs[Math.min(i, specs.length - 1)] ?? {};
    const wait = awaitedWith !== undefined && options[awaitedWith] === true;
    resolved.push(
      names === undefined || given === undefined ? given : await resolveId({ ...place, wait }, names, given),
    );
  }
  const named: Record<string, string> = {};
  for (const [option, names] of Object.entries(NAMED_OPTIONS)) {
    const given = options[option];
    if (typeof given === 'string') named[option] = await resolveId(place, names, given);
  }
  const { namespace: _, ...others } = options;
  const own = spec.options?.namespace?.ofNames ? others : options;
  return { args: resolved, options: { ...own, ...named }, cli };
}

/** Whether a command looks for names within a namespace. */
export function takesNamesOfNamespaces({ arguments: args = [], options = {} }: CommandSpec): boolean {
  const named = [
    ...args.map(({ names }) => names),
    ...Object.keys(options).map((name) => NAMED_OPTIONS[name]),
  ];
  return named.some((names) => names !== undefined && IN_NAMESPACES.has(names));
}

interface Place {
  readonly cli: Cli;
  /** What --namespace says; left out, that of the context counts. */
  readonly namespace: string | undefined;
  /** The first run of a job that has not run yet is waited for. */
  readonly wait?: boolean;
}

async function resolveId(place: Place, names: Named, given: string): Promise<string> {
  if (ID.test(given)) return given;
  const namespace = place.namespace ?? (await place.cli.defaultNamespace());
  const found = await FINDERS[names](await place.cli.client(), given, { namespace });
  const distinct = [...new Map(found.map((candidate) => [candidate.id, candidate])).values()];
  const [one, second] = distinct;
  if (one && !second) return one.id;
  if (one) throw ambiguous(names, given, distinct);
  if (names === 'run') {
    const [job, other, ...more] = await jobsCalled(await place.cli.client(), given, { namespace });
    if (job && other) throw ambiguous('job', given, [job, other, ...more].map(jobCandidate));
    if (job) return firstRunOf(place.cli, job, { wait: place.wait ?? false });
  }
  const near =
    names === 'job' || names === 'run' ? await similarJobs(await place.cli.client(), given, namespace) : [];
  throw notFound(names, given, { namespace: IN_NAMESPACES.has(names) ? namespace : undefined, near });
}

type Within = { readonly namespace?: string | undefined };
type Find = (client: Carillon, given: string, within: Within) => Promise<Candidate[]>;

const FINDERS: Record<Named, Find> = {
  job: async (client, given, within) => (await findJobs(client, given, within)).map(jobCandidate),
  run: findRuns,
  key: async (client, given) => {
    const keys = await client.keys.list({ limit: LOOKED_THROUGH }).toArray();
    const found = keys.filter(({ key_id: id, name }) => name === given || startsWith(id, given));
    return found.map(({ key_id: id, name, created_at: at }) => ({ id, facts: [name, at] }));
  },
  user: findUsers,
  session: async (client, given) => {
    const listed = (all: boolean) => client.sessions.list({ limit: LOOKED_THROUGH, ...(all && { all }) });
    // Of everybody, as far as the caller may see them.
    const sessions = await listed(true)
      .toArray()
      .catch((error: unknown) => {
        if (error instanceof CarillonError && error.code === 'forbidden') return listed(false).toArray();
        throw error;
      });
    const found = sessions.filter(({ session_id: id }) => startsWith(id, given));
    return found.map(({ session_id: id, user_name: name, created_at: at }) => ({ id, facts: [name, at] }));
  },
  worker: async (client, given) => {
    const workers = await client.workers.list({ limit: LOOKED_THROUGH }).toArray();
    // Of one name, those that are lost stay in the list for a while.
    const called = workers.filter(({ name, alive }) => alive && name === given);
    const found = called.length > 0 ? called : workers.filter(({ worker_id: id }) => startsWith(id, given));
    return found.map(({ worker_id: id, name, node_id: node }) => ({ id, facts: [name ?? node] }));
  },
  'dead letter': async (client, given, within) => {
    const list = client.deadLetters.list({ ...within, limit: LOOKED_THROUGH });
    const letters = await list.toArray({ max: LOOKED_THROUGH });
    const found = letters.filter(({ run_id: id }) => startsWith(id, given));
    const some = found.length > 0 ? found : await latestLetters(client, given, within);
    return some.map(({ run_id: id, job_name: name, died_at: at }) => ({ id, facts: [name, at] }));
  },
  'signing key': async (client, given, { namespace }) => {
    const of = (name: string) => client.namespaces.signingKeys.list(name);
    const all = async () =>
      (await client.namespaces.list({ limit: LOOKED_THROUGH }).toArray()).map(({ name }) => name);
    const lists = await Promise.all((namespace === undefined ? await all() : [namespace]).map(of));
    const found = lists.flat().filter(({ signing_key_id: id }) => startsWith(id, given));
    return found.map(({ signing_key_id: id, namespace, created_at: at }) => ({
      ...{ id, facts: [namespace, at], namespace },
    }));
  },
  subject: findSubjects,
};

/** What there is of this name, as far as the caller may look it up. */
const NAMED_SUBJECTS = ['job', 'user', 'key', 'run', 'worker', 'signing key'] as const;

/**
 * What the audit log tells about. Namespaces and secrets are their names there. What was removed is found among the latest changes, by the
 * name that it had.
 */
async function findSubjects(client: Carillon, given: string, within: Within): Promise<Candidate[]> {
  const [exact] = await client.audit.list({ ...within, subject_id: given, limit: 1 }).toArray({ max: 1 });
  if (exact) return [{ id: given, facts: [] }];
  const lists = await Promise.all(
    NAMED_SUBJECTS.map(async (names) => {
      const found = await FINDERS[names](client, given, within).catch((error: unknown) => {
        if (error instanceof CarillonError && error.code === 'forbidden') return [];
        throw error;
      });
      return found.map(({ id, facts }) => ({ id, facts: [names, ...facts] }));
    }),
  );
  const found = lists.flat();
  if (found.length > 0) return found;
  const latest = await client.audit
    .list({ ...within, limit: LOOKED_THROUGH })
    .toArray({ max: LOOKED_THROUGH });
  const nameIn = (state: unknown) => (state as { readonly name?: unknown } | null)?.name;
  return latest
    .filter(
      ({ subject, before, after }) =>
        startsWith(subject.id, given) || nameIn(before) === given || nameIn(after) === given,
    )
    .map(({ subject, action, at }) => ({ id: subject.id, facts: [subject.kind, action, at] }));
}

/** Of each job with this key or name, the latest dead letter that is not handled. */
async function latestLetters(client: Carillon, given: string, within: Within): Promise<DeadLetter[]> {
  const jobs = await jobsCalled(client, given, within);
  const lists = await Promise.all(
    jobs.map(({ job_id }) =>
      client.deadLetters.list({ ...within, job_id, handled: false, limit: 1 }).toArray({ max: 1 }),
    ),
  );
  return lists.flat();
}

/** Names and keys to say instead of one that nothing has: those that contain it, else one of the newest jobs that is spelled like it. */
async function similarJobs(
  client: Carillon,
  given: string,
  namespace: string | undefined,
): Promise<string[]> {
  const found = await readFew(client.jobs.list({ namespace, text: given, limit: SIMILAR_MAX }));
  if (found.length > 0) return [...new Set(found.map(({ key, name }) => key ?? name))].slice(0, SIMILAR_MAX);
  const newest = await client.jobs.list({ namespace, limit: LOOKED_THROUGH }).page();
  // Only here: most commands need nothing of it, and it takes long to load.
  const { nearestWord } = await import('@carillon/contract');
  const words = newest.items.flatMap(({ key, name }) => (key === null ? [name] : [key, name]));
  return [nearestWord(given, words) ?? []].flat();
}

async function findJobs(client: Carillon, given: string, within: Within): Promise<ListedJob[]> {
  const called = await jobsCalled(client, given, within);
  if (called.some(({ key }) => key === given)) return called;
  return [...called, ...(await jobsBeginningWith(client, given, within))];
}

/** A key says exactly one job in a namespace, so nothing else is looked at where it fits. */
async function jobsCalled(client: Carillon, given: string, within: Within): Promise<ListedJob[]> {
  const read = (query: object) => readFew(client.jobs.list({ ...within, ...query, limit: CANDIDATES_MAX }));
  const keyed = await read({ key: given });
  return keyed.length > 0 ? keyed : read({ name: given });
}

async function jobsBeginningWith(client: Carillon, given: string, within: Within): Promise<ListedJob[]> {
  if (!ID_PREFIX.test(given)) return [];
  // A list continues after a place: after the last id with this beginning come those that have it, newest first.
  const last = '00000000-0000-0000-0000-000000000000'.replaceAll('0', 'f');
  const cursor = given.toLowerCase() + last.slice(given.length);
  const query: object = { ...within, cursor, limit: CANDIDATES_MAX };
  const found = await readFew(client.jobs.list(query));
  return found.filter(({ job_id: id }) => startsWith(id, given));
}

/** By the beginning of its id; else the latest run of the job with this key or name. */
async function findRuns(client: Carillon, given: string, within: Within): Promise<Candidate[]> {
  const runs = ID_PREFIX.test(given) ? await runsBeginningWith(client, given, within) : [];
  if (runs.length > 0) return runs.map(runCandidate);
  const jobs = await jobsCalled(client, given, within);
  const latest = await Promise.all(
    jobs.map(async ({ job_id: id, ...job }) => ({ ...job, run: (await client.jobs.status(id)).latest_run })),
  );
  return latest.flatMap(({ run, name, namespace }) =>
    run === null ? [] : [runCandidate({ ...run, job_name: name, namespace })],
  );
}

/** Clocks of servers differ by less. */
const CLOCKS_DIFFER_MS_MAX = 60_000;

/**
 * Most ids begin with the instant at which the run was due, and most runs are handed out then. The others are among the latest, among those
 * that wait, or the first of their job, whose id they have.
 */
async function runsBeginningWith(client: Carillon, given: string, within: Within): Promise<ListedRun[]> {
  const digits = given.replaceAll('-', '').slice(0, 12);
  const sinceMs = Number.parseInt(digits.padEnd(12, '0'), 16) - CLOCKS_DIFFER_MS_MAX;
  const untilMs = Number.parseInt(digits.padEnd(12, 'f'), 16) + CLOCKS_DIFFER_MS_MAX;
  const near = { since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() };
  const jobs = await jobsBeginningWith(client, given, within);
  const queries = [
    // Ids of runs that were run again begin with no instant: read as one, most are far away.
    ...(sinceMs > 0 && sinceMs < Date.now() ? [near] : []),
    ...[{}, { status: 'queued' }],
    ...jobs.map(({ job_id }) => ({ job_id })),
  ];
  const lists = await Promise.all(
    queries.map((query) =>
      client.runs.list({ ...within, ...query, limit: LOOKED_THROUGH }).toArray({ max: LOOKED_THROUGH }),
    ),
  );
  return lists.flat().filter(({ run_id: id }) => startsWith(id, given));
}

/** "me" is who asks; id: is followed by a user_id as jobs have it, which need not be that of a user here. */
async function findUsers(client: Carillon, given: string): Promise<Candidate[]> {
  if (given.startsWith('id:')) return [{ id: given.slice(3), facts: [] }];
  if (given === 'me') {
    const { user_id: id, user_name: name } = await client.session.whoami();
    if (id !== null) return [{ id, facts: [name] }];
    throw new UsageError('"me" is no user: your key belongs to nobody.', 'Give the name of a user.');
  }
  try {
    const named = await client.users.list({ name: given }).toArray();
    const all = ID_PREFIX.test(given) ? await client.users.list({ limit: LOOKED_THROUGH }).toArray() : [];
    const found = [...named, ...all.filter(({ user_id: id }) => startsWith(id, given))];
    return found.map(({ user_id: id, name }) => ({ id, facts: [name] }));
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'forbidden') throw error;
    const { user_id: id, user_name: name } = await client.session.whoami();
    if (id !== null && name === given.toLowerCase()) return [{ id, facts: [name] }];
    const message = `You may not look up users, so give the id of the user instead of "${given}", or "me" for yourself.`;
    throw new CarillonError({ code: 'forbidden', message, status: 403 });
  }
}

/** No index holds names: the server looks through a bounded number of jobs for each page, and so few pages are read. */
const PAGES_MAX = 3;

async function readFew<T>(list: List<T>): Promise<T[]> {
  const found: T[] = [];
  let pages = 0;
  for await (const { items } of list.pages()) {
    found.push(...items);
    pages += 1;
    if (found.length >= CANDIDATES_MAX || pages === PAGES_MAX) break;
  }
  return found.slice(0, CANDIDATES_MAX);
}

const jobCandidate = ({
  job_id: id,
  name,
  key,
  namespace,
  status,
  created_at: at,
}: ListedJob): Candidate => ({
  id,
  facts: [name, key && `key ${key}`, namespace, status.toLowerCase(), at],
  namespace,
});

const runCandidate = ({
  run_id: id,
  job_name: name,
  namespace,
  status,
  scheduled_at: at,
}: Pick<ListedRun, 'run_id' | 'job_name' | 'namespace' | 'status' | 'scheduled_at'>): Candidate => ({
  id,
  facts: [name, namespace, status, at],
  namespace: namespace ?? undefined,
});

function startsWith(id: string, given: string): boolean {
  return ID_PREFIX.test(given) && id.startsWith(given.toLowerCase());
}
