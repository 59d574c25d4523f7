/** Every curl of docs/api.md, as it stands there: what people copy must work. */
import { readFileSync } from 'node:fs';
import type { JobId } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { allOperations } from './api/all-operations.ts';
import type { ApiContext } from './api/operation.ts';
import { GatewayFixture } from './gateway.fixture.ts';

const DOCS = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8');

interface Curl {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

function curls(): Curl[] {
  const blocks = [...DOCS.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) =>
    block!.replaceAll('\\\n', ' '),
  );
  const lines = blocks.flatMap((block) => block.split('\n').filter((line) => line.startsWith('curl ')));
  return lines.map((line) => {
    const body = / -d '([^']*)'/.exec(line)?.[1];
    const url = /\$CARILLON([^\s"]+)/.exec(line)![1]!;
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    for (const [, name, value] of line.matchAll(/-H ['"]([\w-]+): ([^']*?)['"] /g)) headers[name!] = value!;
    return { method: / -X (\w+)/.exec(line)?.[1] ?? 'GET', url, headers, body };
  });
}

/** With a run of each kind, so that what an example says about $RUN can be done with one of them. */
async function scene() {
  const gateway = new GatewayFixture();
  const jobId = (await gateway.createdId({ key: 'weekday-report', cron_expression: '0 9 * * *' })) as JobId;
  const run = async () => (await gateway.operations.runJobNow(jobId)).runId;
  const finished = await run();
  const ended = await gateway.claimDue();
  await gateway.leaveArtifact(ended, { name: 'report.pdf', content: '1' });
  await gateway.settle(ended, {
    status: 'SUCCESS',
    result: '1',
    next: { kind: 'finish' },
  });
  const dead = await run();
  const failing = await gateway.claimDue();
  await gateway.storage.runState.saveCheckpoints(
    [{ ...failing.runs[0]!, sequence: 1, data: '1' }],
    gateway.clock.now(),
  );
  await gateway.settle(failing, {
    status: 'FAILED',
    next: { kind: 'dead', reason: 'retries_exhausted' },
  });
  const waiting = await run();
  const { signingKeyId } = (await gateway.operations.createSigningKey('default', {})).key;
  const runFor = (url: string) =>
    /dead-letters|checkpoint/.test(url) ? dead : url.endsWith('cancel') ? waiting : finished;
  return {
    gateway,
    fill: (url: string) =>
      url
        .replace('$KEY', 'weekday-report')
        .replace('$JOB', jobId)
        .replace('$RUN', runFor(url))
        .replace('$FILE', 'report.pdf')
        .replace('$WORKER', 'worker-1')
        .replace('$SIGNING_KEY', signingKeyId),
  };
}

describe('the examples of docs/api.md', () => {
  test('are found', () => {
    expect(curls().length).toBeGreaterThan(30);
  });

  test.each(curls().map((curl) => [`${curl.method} ${curl.url} ${curl.body ?? ''}`, curl] as const))(
    '%s',
    async (_name, { method, url, headers, body }) => {
      const { gateway, fill } = await scene();
      const given = { headers, ...(body !== undefined && { payload: body }) };
      const answer = await gateway.ask(method as 'GET', fill(url), given);
      expect([answer.status, answer.status < 300 ? '' : answer.body]).toEqual([expect.any(Number), '']);
    },
  );

  test('name every endpoint of jobs, runs, schedules, dead letters and workers', () => {
    const shown = curls().map(
      ({ method, url }) => `${method} ${url.split('?')[0]!.replaceAll(/\$\w+/g, '{id}')}`,
    );
    const ours = new Set(['jobs', 'runs', 'schedules', 'dead letters', 'workers']);
    const endpoints = allOperations({ operations: {}, address: '' } as unknown as ApiContext);
    const named = endpoints
      .filter(({ tag }) => ours.has(tag))
      .map(({ method, path }) => `${[method].flat()[0]} /api${path.replaceAll(/\{\w+\}/g, '{id}')}`);
    expect(named.filter((name) => !shown.includes(name))).toEqual([]);
  });
});
