import { describe, expect, test } from 'vitest';
import {
  type BulkProgress,
  type BulkTarget,
  type PartReport,
  type PartRequest,
  workThrough,
} from './bulk-work.ts';

const IDS = Array.from({ length: 250 }, (_, i) => `job-${i}`);
type Filter = { readonly text: string };

/** Answers as the server does: ids in full, a filter in parts of 100. */
function server() {
  const sent: PartRequest<Filter>[] = [];
  const send = async (request: PartRequest<Filter>): Promise<PartReport> => {
    sent.push(request);
    const from = 'ids' in request ? 0 : Number(request.cursor ?? 0);
    const ids = 'ids' in request ? request.ids : IDS.slice(from, from + 100);
    const refused = ids.includes('job-7') ? 1 : 0;
    return {
      ...{ matched: ids.length, refused, ids, unchanged: 0 },
      changed: request.dryRun ? 0 : ids.length - refused,
      results: ids.map((id) => ({
        id,
        outcome: id === 'job-7' ? 'refused' : 'changed',
        error: id === 'job-7' ? { code: 'job_already_finished', message: 'It is over.' } : null,
      })),
      next: 'ids' in request || from + 100 >= IDS.length ? null : String(from + 100),
    };
  };
  return { sent, send };
}

async function all(
  target: BulkTarget<Filter>,
  { dryRun = false, stopAfter = Number.POSITIVE_INFINITY } = {},
) {
  const { sent, send } = server();
  const stop = new AbortController();
  const seen: BulkProgress[] = [];
  for await (const progress of workThrough(send, { target, dryRun, signal: stop.signal })) {
    seen.push(progress);
    if (seen.length >= stopAfter) stop.abort();
  }
  return { sent, seen, last: seen.at(-1)! };
}

describe('one action on many', () => {
  test('sends ticked ones in parts and adds up what came of them', async () => {
    const { sent, last } = await all({ ids: IDS });
    expect(sent.map((request) => 'ids' in request && request.ids.length)).toEqual([100, 100, 50]);
    expect(last).toMatchObject({ matched: 250, changed: 249, refused: 1, finished: true });
    expect(last.reasons).toEqual([{ code: 'job_already_finished', message: 'It is over.', count: 1 }]);
    expect(last.changedIds).toHaveLength(249);
  });

  test('goes through everything that a filter matches, and names the first that can be changed', async () => {
    const { sent, last } = await all({ filter: { text: 'import' } }, { dryRun: true });
    expect(sent.map((request) => ['cursor' in request && request.cursor, request.dryRun])).toEqual([
      [false, true],
      ['100', true],
      ['200', true],
    ]);
    expect(last).toMatchObject({ matched: 250, changed: 0, refused: 1, finished: true });
    expect(last.firstIds).toEqual(IDS.filter((id) => id !== 'job-7').slice(0, 10));
  });

  test('stops between two parts, and says that it is not finished', async () => {
    const { sent, last } = await all({ ids: IDS }, { stopAfter: 1 });
    expect(sent).toHaveLength(1);
    expect(last).toMatchObject({ matched: 100, finished: false });
  });
});
