/** The same call for each of several ids, one after the other: a refusal is told and does not keep the others from it. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT } from '../program/exit-codes.ts';
import { explainError } from '../program/explain-error.ts';

export async function forEachId<T>(
  cli: Cli,
  ids: readonly string[],
  act: (id: string) => Promise<{ answer: T; sentence: string }>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const id of ids) {
    try {
      const { answer, sentence } = await act(id);
      cli.out.entry(answer, sentence);
    } catch (error) {
      // Only what the server said about this one id; whatever else went wrong goes wrong for all.
      if (!(error instanceof CarillonError) || error.status === undefined) throw error;
      const explained = explainError(error);
      const { message } = explained;
      cli.out.failure({ ...explained, message: message.includes(id) ? message : `${id}: ${message}` });
      exitCode = explained.exitCode;
    }
  }
  return exitCode;
}
