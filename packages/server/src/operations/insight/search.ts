/**
 * Search: one text, which may be an id, the beginning of one, a name or a key, over everything that the caller may see. Ids, keys and
 * the beginnings of names of recurring jobs are found by indexes; other names only among the newest jobs, and the answer says so.
 */
import {
  Cache,
  type Caller,
  HITS_MAX,
  type Job,
  jobShownTo,
  knowsNamespace,
  may,
  type RunId,
  requireMay,
  type SearchHit,
  type SearchResult,
  visibleTo,
} from '@carillon/domain';
import type { FoundJob, FoundRun } from '../../storage/insight-store.ts';
import { selectJobs } from '../jobs/list-jobs.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { mapInParallel } from '../support/in-parallel.ts';

/** Fewer digits are the beginning of too many ids. */
const ID_DIGITS_MIN = 8;
const ID = /^[0-9a-f][0-9a-f-]*$/;
/** Of runs that an id is the beginning of, each is read for its status. */
const RUNS_MAX = 5;

/** Whoever searches within the same moment, as while typing, shares what is read of workers and namespaces. */
const SHARED_MS = 1_000;
const SHARED_MAX = 200;

type Namespaces = Awaited<ReturnType<OperationPorts['accounts']['operations']['listNamespaces']>>;
type Workers = Awaited<ReturnType<OperationPorts['storage']['members']['listWorkers']>>;

export function searchOperations(ports: OperationPorts) {
  const expiry = { ttlMs: SHARED_MS, clock: ports.clock };
  const workers = new Cache<string, Workers>({ entriesMax: SHARED_MAX, expiry });
  const namespaces = new Cache<string, Namespaces>({ entriesMax: SHARED_MAX, expiry });
  const readWorkers = (text: string) => {
    const page = { text, limit: HITS_MAX + 1, nowMs: ports.clock.now() };
    return workers.getOrLoad(text, () => ports.storage.members.listWorkers(page));
  };
  const readNamespaces = (caller: Caller) => {
    // Shared by all who know of the same namespaces.
    const known = [...new Set(caller.grants.map(({ namespace }) => namespace))].sort();
    const read = () => ports.accounts.operations.listNamespaces(caller, { limit: NAMESPACES_LOOKED_AT });
    return namespaces.getOrLoad(JSON.stringify(known), read);
  };
  return {
    async search(caller: Caller, text: string): Promise<SearchResult> {
      requireMay(caller, 'jobs.read');
      const wanted = text.trim();
      const range = idRange(wanted.toLowerCase());
      const parts = await Promise.all([
        range ? byIds(ports, caller, range) : none,
        byName(ports, caller, wanted),
        workersNamed(readWorkers, caller, wanted.toLowerCase()),
        usersNamed(ports, caller, wanted),
        namespacesNamed(readNamespaces, caller, wanted),
      ]);
      const hits = new Map(parts.flatMap((part) => part.hits.map((hit) => [`${hit.kind}/${hit.id}`, hit])));
      const all = [...hits.values()];
      return {
        hits: all.slice(0, HITS_MAX),
        partial: all.length > HITS_MAX || parts.some(({ partial }) => partial),
      };
    },
  };
}

const none: SearchResult = { hits: [], partial: false };

/** The ids that begin with these digits, dashes anywhere; undefined: it is no beginning of an id. */
export function idRange(text: string): { first: string; last: string } | undefined {
  const digits = text.replaceAll('-', '');
  if (!ID.test(text) || digits.length < ID_DIGITS_MIN || digits.length > 32) return undefined;
  const id = (fill: string) =>
    digits.padEnd(32, fill).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { first: id('0'), last: id('f') };
}

async function byIds(
  ports: OperationPorts,
  caller: Caller,
  range: { first: string; last: string },
): Promise<SearchResult> {
  const { insight } = ports.storage;
  const jobs = await insight.jobsByIds({
    ...range,
    visible: visibleTo(caller, 'jobs.read'),
    limit: HITS_MAX + 1,
  });
  const runs = may(caller, 'runs.read')
    ? await insight.runsByIds({ ...range, visible: visibleTo(caller, 'runs.read'), limit: RUNS_MAX + 1 })
    : { found: [], partial: false };
  const runHits = await mapInParallel(runs.found.slice(0, RUNS_MAX), (run) => runHit(ports, run));
  return {
    hits: [...jobs.found.map(jobHit), ...runHits],
    partial: jobs.partial || runs.partial || runs.found.length > RUNS_MAX,
  };
}

async function runHit({ storage, clock }: OperationPorts, { runId, job }: FoundRun): Promise<SearchHit> {
  const [latest] = await storage.runs.attempts(runId as RunId, clock.now());
  const at = latest && new Date(latest.scheduledAtMs).toISOString();
  return {
    ...{ kind: 'run', id: runId, title: `Run of ${job?.name ?? 'a deleted job'}`, namespace: job?.namespace },
    detail: latest ? `${latest.status}, attempt ${latest.attempt}, for ${at}` : 'planned',
  };
}

function jobHit({ jobId, name, namespace, handler, key }: FoundJob): SearchHit {
  const detail = key === undefined ? handler : `${handler}, key ${key}`;
  return { kind: 'job', id: jobId, title: name, detail, namespace };
}

/** Keys and names that begin with it, then names that contain it. */
async function byName(ports: OperationPorts, caller: Caller, text: string): Promise<SearchResult> {
  const limit = HITS_MAX + 1;
  const query = { limit, payloads: false };
  const select = (over: { text: string } | { jobKeyPrefix: string }) =>
    selectJobs(ports, { caller, action: 'jobs.read', query: { ...query, ...over } });
  const whole = wholeNamespaces(caller);
  const first =
    whole?.length === 0
      ? []
      : await ports.storage.insight.jobsByName({ prefix: text, namespaces: whole, limit });
  if (first.length >= limit) return { hits: first.map(jobHit), partial: true };
  const keyed = await select({ jobKeyPrefix: text });
  const containing = await select({ text });
  const begins = ({ job }: { job: Job }) => job.name.toLowerCase().startsWith(text.toLowerCase());
  const named = [...containing.jobs].sort((a, b) => Number(begins(b)) - Number(begins(a)));
  const shown = ({ job }: { job: Job }) => jobHit(jobShownTo(caller, job));
  return {
    hits: [...first.map(jobHit), ...keyed.jobs.map(shown), ...named.map(shown)],
    partial: keyed.next !== undefined || containing.next !== undefined,
  };
}

/** Namespaces whose jobs the caller sees, whoever owns them; undefined: all of them. */
function wholeNamespaces(caller: Caller): readonly string[] | undefined {
  const visible = visibleTo(caller, 'jobs.read');
  return visible?.filter(({ userId }) => userId === undefined).map(({ namespace }) => namespace);
}

async function workersNamed(
  readWorkers: (text: string) => Promise<Workers>,
  caller: Caller,
  text: string,
): Promise<SearchResult> {
  if (!may(caller, 'workers.read')) return none;
  const workers = await readWorkers(text);
  const hits = workers.slice(0, HITS_MAX).map(({ workerId, name, alive, draining, handlers }): SearchHit => {
    const state = alive ? (draining ? 'draining' : 'alive') : 'lost';
    return {
      ...{ kind: 'worker', id: workerId, title: name ?? workerId, namespace: undefined },
      detail: `${state}, offers ${handlers.slice(0, 5).join(', ') || 'nothing'}`,
    };
  });
  return { hits, partial: workers.length > HITS_MAX };
}

/** Names of users that begin with it; their order is that of names. */
async function usersNamed({ accounts }: OperationPorts, caller: Caller, text: string): Promise<SearchResult> {
  if (!may(caller, 'users.read')) return none;
  const name = text.toLowerCase();
  const { listUsers } = accounts.operations;
  const exact = await listUsers(caller, { name, limit: 1 });
  const after = (await listUsers(caller, { after: name, limit: HITS_MAX })).filter((user) =>
    user.name.startsWith(name),
  );
  const hits = [...exact, ...after].map(
    ({ userId, name: title, displayName }): SearchHit => ({
      ...{ kind: 'user', id: userId, title, detail: displayName, namespace: undefined },
    }),
  );
  return { hits, partial: after.length === HITS_MAX };
}

async function namespacesNamed(
  readNamespaces: (caller: Caller) => Promise<Namespaces>,
  caller: Caller,
  text: string,
): Promise<SearchResult> {
  if (!may(caller, 'namespaces.read')) return none;
  const listed = await readNamespaces(caller);
  const name = text.toLowerCase();
  const hits = listed
    .filter((namespace) => namespace.name.includes(name) && knowsNamespace(caller, namespace.name))
    .slice(0, HITS_MAX)
    .map(
      (namespace): SearchHit => ({
        ...{ kind: 'namespace', id: namespace.name, title: namespace.name, detail: namespace.description },
        namespace: namespace.name,
      }),
    );
  return { hits, partial: listed.length === NAMESPACES_LOOKED_AT };
}

const NAMESPACES_LOOKED_AT = 1_000;
