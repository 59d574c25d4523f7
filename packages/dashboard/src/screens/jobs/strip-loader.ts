/** The last outcomes of jobs for the rows that are on the page: what rows ask for within a moment is one request. */
import type { Strip } from '@carillon/client';

type Runs = Strip['runs'];
type Read = (ids: readonly string[]) => Promise<readonly Strip[]>;

/** What the server takes in one request. */
const IDS_MAX = 50;
const GATHERED_MS = 15;

interface Asked {
  readonly id: string;
  readonly resolve: (runs: Runs) => void;
  readonly reject: (error: unknown) => void;
}

export function createStripLoader(read: Read): (jobId: string) => Promise<Runs> {
  let waiting: Asked[] = [];
  const send = () => {
    const asked = waiting;
    waiting = [];
    for (let from = 0; from < asked.length; from += IDS_MAX)
      void answer(read, asked.slice(from, from + IDS_MAX));
  };
  return (id) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setTimeout(send, GATHERED_MS);
      waiting.push({ id, resolve, reject });
    });
}

async function answer(read: Read, asked: readonly Asked[]): Promise<void> {
  try {
    const strips = await read([...new Set(asked.map(({ id }) => id))]);
    const byId = new Map(strips.map(({ job_id: id, runs }) => [id, runs]));
    for (const { id, resolve } of asked) resolve(byId.get(id) ?? []);
  } catch (error) {
    for (const { reject } of asked) reject(error);
  }
}
