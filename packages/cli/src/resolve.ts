/**
 * What people call things by: wherever an id is taken, the key of a job, a name that only one has, or the beginning of an id will do.
 * What fits several is refused with all of them; ids are never looked up, so that scripts cost no request more.
 */
import { type Carillon, CarillonError, type List, type ListedJob } from '@carillon/client';
import type { Cli } from './cli.ts';
import type { Call, CommandSpec } from './command.ts';
import { UsageError } from './errors.ts';
import { plainText } from './output/text.ts';

/** What an argument of a command names. */
export type Named = 'job' | 'key' | 'user' | 'dead letter';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The beginning of a UUID. Ids begin with the time: six digits are a few hours. */
const ID_PREFIX = /^[0-9a-f]{6}(?:[0-9a-f]{0,2}|[0-9a-f]{2}-[0-9a-f-]{0,26})$/i;
/** To the millisecond at which it was made. */
const SHORT_LENGTH = 13;
const CANDIDATES_MAX = 6;
/** Newest first: entries of one page, where no index finds a beginning. */
const LOOKED_THROUGH = 200;

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

/** A call of a command, with ids in place of what its arguments and --job call things by. */
export async function resolveCall(spec: CommandSpec, { args, options, cli }: AnyCall): Promise<AnyCall> {
  const specs = spec.arguments ?? [];
  const resolved: string[] = [];
  for (const [i, given] of args.entries()) {
    // The last one may take several; one that may be left out is undefined.
    const { names } = specs[Math.min(i, specs.length - 1)] ?? {};
    resolved.push(names === undefined || given === undefined ? given : await resolveId(cli, names, given));
  }
  const { job_id: job } = options;
  const named = typeof job === 'string' ? { job_id: await resolveId(cli, 'job', job) } : {};
  return { args: resolved, options: { ...options, ...named }, cli };
}

async function resolveId(cli: Cli, names: Named, given: string): Promise<string> {
  if (UUID.test(given)) return given;
  const found = await FINDERS[names](await cli.client(), given);
  const distinct = [...new Map(found.map((candidate) => [candidate.id, candidate])).values()];
  const [one, second] = distinct;
  if (one && !second) return one.id;
  if (one) throw ambiguous(names, given, distinct);
  throw notFound(names, given);
}

interface Candidate {
  readonly id: string;
  /** What tells it from the others. */
  readonly facts: readonly (string | null)[];
}

type Find = (client: Carillon, given: string) => Promise<Candidate[]>;

const FINDERS: Record<Named, Find> = {
  job: findJobs,
  key: async (client, given) => {
    const keys = await client.keys.list({ limit: LOOKED_THROUGH }).toArray();
    const found = keys.filter(({ key_id: id, name }) => name === given || startsWith(id, given));
    return found.map(({ key_id: id, name, created_at: at }) => ({ id, facts: [name, at] }));
  },
  user: async (client, given) => {
    const users = await client.users.list({ limit: LOOKED_THROUGH }).toArray();
    const found = users.filter(
      ({ user_id: id, name }) => name === given.toLowerCase() || startsWith(id, given),
    );
    return found.map(({ user_id: id, name }) => ({ id, facts: [name] }));
  },
  'dead letter': async (client, given) => {
    const list = client.deadLetters.list({ limit: LOOKED_THROUGH });
    const letters = await list.toArray({ max: LOOKED_THROUGH });
    const found = letters.filter(({ run_id: id }) => startsWith(id, given));
    return found.map(({ run_id: id, job_name: name, died_at: at }) => ({ id, facts: [name, at] }));
  },
};

/** A key says exactly one job in a namespace, so nothing else is looked at where it fits. */
async function findJobs(client: Carillon, given: string): Promise<Candidate[]> {
  const read = (query: object) => readFew(client.jobs.list({ ...query, limit: CANDIDATES_MAX }));
  const keyed = await read({ key: given });
  if (keyed.length > 0) return keyed.map(jobCandidate);
  const found = await read({ name: given });
  if (ID_PREFIX.test(given)) {
    // A list continues after a place: after the last id with this beginning come those that have it, newest first.
    const last = '00000000-0000-0000-0000-000000000000'.replaceAll('0', 'f');
    const after = given.toLowerCase() + last.slice(given.length);
    found.push(...(await read({ after })).filter(({ job_id: id }) => startsWith(id, given)));
  }
  return found.map(jobCandidate);
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
});

function startsWith(id: string, given: string): boolean {
  return ID_PREFIX.test(given) && id.startsWith(given.toLowerCase());
}

function ambiguous(names: Named, given: string, candidates: readonly Candidate[]): UsageError {
  const lines = candidates.map(
    ({ id, facts }) =>
      `  ${id}  ${facts
        .filter(Boolean)
        .map((fact) => plainText(fact ?? ''))
        .join('  ')}`,
  );
  const wanted = names === 'job' ? 'Give the id, or the key of the job.' : 'Give the id.';
  return new UsageError(`"${given}" fits more than one ${names}:\n${lines.join('\n')}`, wanted);
}

const LISTS: Record<Named, string> = { job: 'jobs', key: 'keys', user: 'users', 'dead letter': 'dlq' };
const CODES: Record<Named, string> = {
  job: 'job_not_found',
  key: 'key_not_found',
  user: 'user_not_found',
  'dead letter': 'dead_letter_not_found',
};

function notFound(names: Named, given: string): CarillonError {
  const by = {
    job: 'key, name or beginning of an id',
    key: 'name or beginning of an id',
    user: 'name or beginning of an id',
    'dead letter': `beginning of an id among the latest ${LOOKED_THROUGH}`,
  }[names];
  return new CarillonError({
    code: CODES[names],
    message: `There is no ${names} with the ${by} "${given}".`,
    fix: `\`carillon ${LISTS[names]} list\` shows them; the beginning of an id has at least 6 characters.`,
    status: 404,
  });
}
