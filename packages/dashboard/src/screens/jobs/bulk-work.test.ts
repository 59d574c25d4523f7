import type { BulkReport, BulkRequest } from '@carillon/client';
import { describe, expect, test } from 'vitest';
import { type BulkProgress, type BulkTarget, workThrough } from './bulk-work.ts';

const IDS = Array.from({ length: 250 }, (_, i) => `job-${i}`);

/** Answers as the server does: ids in full, a filter in parts of 100. */
function server() {
  const sent: BulkRequest[] = [];
  const send = async (request: BulkRequest): Promise<BulkReport> => {
    sent.push(request);
    const from = Number(request.cursor ?? 0);
    const ids = request.job_ids ?? IDS.slice(from, from + 100);
    const refused = ids.includes('job-7') ? 1 : 0;
    return {
      ...{ action: request.action, dry_run: request.dry_run === true, matched: ids.length, refused },
      ...{ changed: request.dry_run ? 0 : ids.length - refused, unchanged: 0, job_ids: ids, jobs: ids },
      results: ids.map((id) => ({
        job_id: id,
        outcome: id === 'job-7' ? 'refused' : 'changed',
        error: id === 'job-7' ? { code: 'job_already_finished', message: 'It is over.' } : null,
      })),
      next: request.job_ids || from + 100 >= IDS.length ? null : String(from + 100),
    };
  };
  return { sent, send };
}

async function all(target: BulkTarget, { dryRun = false, stopAfter = Number.POSITIVE_INFINITY } = {}) {
  const { sent, send } = server();
  const stop = new AbortController();
  const seen: BulkProgress[] = [];
  for await (const progress of workThrough(send, { action: 'pause', target, dryRun, signal: stop.signal })) {
    seen.push(progress);
    if (seen.length >= stopAfter) stop.abort();
  }
  return { sent, seen, last: seen.at(-1)! };
}

describe('one action on many jobs', () => {
  test('sends ticked jobs in parts and adds up what came of them', async () => {
    const { sent, last } = await all({ ids: IDS });
    expect(sent.map(({ job_ids: ids }) => ids?.length)).toEqual([100, 100, 50]);
    expect(last).toMatchObject({ matched: 250, changed: 249, refused: 1, finished: true });
    expect(last.reasons).toEqual(['It is over.']);
    expect(last.changedIds).toHaveLength(249);
  });

  test('goes through everything that a filter matches', async () => {
    const { sent, last } = await all({ filter: { text: 'import' } }, { dryRun: true });
    expect(sent.map(({ cursor, dry_run: dry }) => [cursor, dry])).toEqual([
      [undefined, true],
      ['100', true],
      ['200', true],
    ]);
    expect(last).toMatchObject({ matched: 250, changed: 0, finished: true });
    expect(last.firstIds).toEqual(IDS.slice(0, 10));
  });

  test('stops between two parts, and says that it is not finished', async () => {
    const { sent, last } = await all({ ids: IDS }, { stopAfter: 1 });
    expect(sent).toHaveLength(1);
    expect(last).toMatchObject({ matched: 100, finished: false });
  });
});
