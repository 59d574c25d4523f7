/** The same done to many ids by few requests in bulk. What is refused is told of each, as its own request would tell it. */
import { CarillonError } from '@carillon/client';

/** The server takes so many in one request. */
export const PART_MAX = 1_000;

/** What the request for one of them answers: exit codes follow from it. */
const REFUSED_STATUS: Readonly<Record<string, number>> = {
  job_not_found: 404,
  run_not_found: 404,
  dead_letter_not_found: 404,
  forbidden: 403,
};

interface Refused {
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The result of each, by its id, which throws where it was refused. Undefined: the server said nothing of it. */
export async function resultsInParts<Result extends Refused>(
  ids: readonly string[],
  {
    send,
    idOf,
  }: {
    send: (part: string[]) => Promise<readonly Result[]>;
    idOf: (result: Result) => string;
  },
): Promise<(id: string) => Result | undefined> {
  const results = new Map<string, Result>();
  for (let from = 0; from < ids.length; from += PART_MAX) {
    for (const result of await send(ids.slice(from, from + PART_MAX))) results.set(idOf(result), result);
  }
  return (id) => {
    const result = results.get(id.toLowerCase());
    const error = result?.error;
    if (error) throw new CarillonError({ ...error, status: REFUSED_STATUS[error.code] ?? 409 });
    return result;
  };
}
