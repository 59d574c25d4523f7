/** What became of a failure since: the run that was added when it was redriven, or the later one that succeeded. */
import type { DeadLetter } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { stateWord } from '../../ui/state-badge.tsx';

/** Those that were given up before are not told: the page asks once for all its failures. */
const READ_MAX = 100;

/** By the run that was given up; as far as the caller may read dead letters. */
export function useHandledLetters(namespace: string | undefined): ReadonlyMap<string, DeadLetter> {
  const allowed = may(useCaller(), 'dead_letters.read', { namespace });
  const { data = [] } = useQuery({
    // As the failures themselves: the stream tells of the new run, not of the letter.
    queryKey: queryKeys.failures(namespace, 'handled'),
    queryFn: async () =>
      (await carillon.deadLetters.list({ namespace, handled: true, limit: READ_MAX }).page()).items,
    enabled: allowed,
  });
  return new Map(data.map((letter) => [letter.run_id, letter]));
}

export function HandledSince({ letter, isOnly }: { letter: DeadLetter; isOnly: boolean }) {
  const { redriven_run_id: redriven, resolved_by: resolved } = letter;
  const { data: run } = useQuery({
    queryKey: queryKeys.run(redriven ?? ''),
    queryFn: ({ signal }) => carillon.runs.get(redriven!, { signal }),
    enabled: redriven !== null,
    retry: false,
    placeholderData: undefined,
  });
  const next = redriven ?? resolved;
  if (next === null) return null;
  const how = run?.trigger === 'manual' ? 'run again' : 'redriven';
  const words =
    redriven === null ? 'a later run succeeded' : `${how}${run ? `, ${stateWord(run.status)}` : ''}`;
  return (
    <>
      {' · '}
      {isOnly ? '' : 'one of them: '}
      <Link to="/runs/$runId" params={{ runId: next }}>
        {words}
      </Link>
    </>
  );
}
