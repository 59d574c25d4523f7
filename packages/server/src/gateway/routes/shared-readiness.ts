/**
 * One answer about readiness for all who ask within a second. Anybody may ask, and each question goes to the database: however
 * many ask, and however slow it is, one question is under way at a time.
 */
import type { Clock } from '@carillon/foundation';
import type { Readiness } from './health-routes.ts';

export const SHARED_MS = 1_000;

export function sharedReadiness(
  ask: () => Promise<Readiness>,
  { clock }: { clock: Pick<Clock, 'monotonic'> },
): () => Promise<Readiness> {
  let answer: Promise<Readiness> | undefined;
  /** Counted from when it was answered: a question that takes long is not asked again meanwhile. */
  let answeredAtMs: number | undefined;
  return () => {
    const isOld = answeredAtMs !== undefined && clock.monotonic() - answeredAtMs >= SHARED_MS;
    if (answer === undefined || isOld) {
      answeredAtMs = undefined;
      const answered = () => {
        answeredAtMs = clock.monotonic();
      };
      answer = ask();
      // A failure is an answer too, and as good for a second as any other.
      answer.then(answered, answered);
    }
    return answer;
  };
}
