/** What is said where a name that people call something by fits nothing, or several. */
import { CarillonError } from '@carillon/client';
import { UsageError } from './errors.ts';
import { plainText } from './output/text.ts';

/** What an argument of a command names. */
export type Named =
  | ('job' | 'run' | 'key' | 'user' | 'session' | 'worker')
  | ('dead letter' | 'signing key' | 'subject');

export interface Candidate {
  readonly id: string;
  /** What tells it from the others. */
  readonly facts: readonly (string | null)[];
  /** Left out: not known, or it is in none. */
  readonly namespace?: string | undefined;
}

export const IN_NAMESPACES: ReadonlySet<Named> = new Set(['job', 'run', 'dead letter', 'signing key']);
export const CANDIDATES_MAX = 6;
/** Newest first: entries of one page, where no index finds a beginning. */
export const LOOKED_THROUGH = 200;

export function ambiguous(names: Named, given: string, candidates: readonly Candidate[]): UsageError {
  const lines = candidates.slice(0, CANDIDATES_MAX).map(
    ({ id, facts }) =>
      `  ${id}  ${facts
        .filter(Boolean)
        .map((fact) => plainText(fact ?? ''))
        .join('  ')}`,
  );
  if (candidates.length > CANDIDATES_MAX) lines.push(`  and ${candidates.length - CANDIDATES_MAX} more`);
  const namespaces = new Set(candidates.map(({ namespace }) => namespace));
  const helps = IN_NAMESPACES.has(names) && (namespaces.size > 1 || namespaces.has(undefined));
  const where = helps ? ', or say where it is with --namespace' : '';
  const wanted = `Give the id${names === 'job' ? ' or the key of the job' : ''}${where}.`;
  return new UsageError(`"${given}" fits more than one ${names}:\n${lines.join('\n')}`, wanted);
}

const LISTS: Record<Named, string> = {
  ...{ job: 'jobs list', run: 'runs list', key: 'keys list', user: 'users list' },
  session: 'sessions list',
  ...{ worker: 'workers', 'dead letter': 'dlq list' },
  ...{ 'signing key': 'signing-keys list <namespace>', subject: 'audit' },
};
const CALLED_BY: Record<Named, string> = {
  job: 'key, name or beginning of an id',
  run: 'beginning of an id, and no job with the key or name',
  key: 'name or beginning of an id',
  user: 'name or beginning of an id',
  session: 'beginning of an id',
  worker: 'name or beginning of an id',
  'dead letter': `beginning of an id among the latest ${LOOKED_THROUGH}, and no job that failed for good with the key or name`,
  'signing key': 'beginning of an id',
  subject: 'name or beginning of an id',
};

export function notFound(
  names: Named,
  given: string,
  { namespace, near }: { namespace: string | undefined; near: readonly string[] },
): CarillonError {
  const similar = near.map((one) => `"${plainText(one)}"`).join(' or ');
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  const elsewhere = namespace === undefined ? '' : ' --all-namespaces looks everywhere.';
  const literal = names === 'user' ? ` id:${given} means what jobs have as their user_id.` : '';
  return new CarillonError({
    code: `${names.replaceAll(' ', '_')}_not_found`,
    message:
      names === 'subject'
        ? `Nothing that was changed has the ${CALLED_BY[names]} "${given}".`
        : `There is no ${names}${where} with the ${CALLED_BY[names]} "${given}".`,
    fix: `${similar && `Did you mean ${similar}? `}\`carillon ${LISTS[names]}\` shows them; the beginning of an id has at least 6 characters.${elsewhere}${literal}`,
    status: 404,
  });
}
