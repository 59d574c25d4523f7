/** What all lists have in common, tried on every one in the table of operations. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LIST_BYTES_MAX } from '../operations/support/read-within-bytes.ts';
import { allOperations } from './api/all-operations.ts';
import type { ApiContext, Operation } from './api/operation.ts';
import { GatewayFixture } from './gateway.fixture.ts';
import { buildOpenApi } from './openapi/build-openapi.ts';
import { RpcFixture, refusalOf } from './rpc/rpc.fixture.ts';

const TABLE = allOperations({ operations: {}, address: '' } as unknown as ApiContext);
const LISTS = TABLE.filter(({ cursor }) => cursor !== undefined);
const READ = LISTS.filter(({ method }) => method === 'GET');
const named = (operations: readonly Operation[]) =>
  operations.map((operation) => [`${[operation.method].flat()[0]} ${operation.path}`, operation] as const);
const fieldsOf = ({ query, body }: Operation) => Object.keys((query ?? body)!.schema.shape);

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

/** A path that exists, with what it needs. */
async function pathOf({ path, query }: Operation): Promise<string> {
  const jobId = path.includes('{id}') ? await gateway.createdId({ name: 'job', frequency: 'daily' }) : '';
  const needs =
    query && 'worker_id' in query.schema.shape && path === '/job/executions' ? 'worker_id=w&' : '';
  return `/api${path.replace('{id}', jobId)}?${needs}`;
}

test('every list of the interface is in this test', () => {
  expect(LISTS.map(({ path }) => path).toSorted()).toEqual(
    [
      ...[
        '/audit',
        '/dead-letters',
        '/dead-letters/redrive',
        '/events',
        '/handlers',
        '/job/executions',
        '/jobs',
        '/jobs/bulk',
      ],
      ...[
        '/jobs/{id}/runs',
        '/jobs/{id}/versions',
        '/runs/bulk',
        '/keys',
        '/namespaces',
        '/runs',
        '/sessions',
        '/users',
        '/workers',
      ],
    ].toSorted(),
  );
});

describe.each(named(READ))('%s', (_name, operation) => {
  test('takes cursor and limit, with the same bounds as every other list', async () => {
    const path = await pathOf(operation);
    expect(fieldsOf(operation)).toEqual(expect.arrayContaining(['cursor', 'limit']));
    const status = async (query: string) => (await gateway.ask('GET', `${path}${query}`)).status;
    // An administrator has no sessions of their own.
    if (operation.path !== '/sessions') expect(await status('limit=1000')).toBe(200);
    for (const refused of ['limit=0', 'limit=1001', 'limit=ten', 'limit=1&limit=2']) {
      expect(await gateway.ask('GET', `${path}${refused}`)).toMatchObject({
        status: 400,
        body: { code: 'field_invalid', field: 'limit' },
      });
    }
  });

  test.each(['x', '_', '%00', '-1', '2030_01_01', `${'a'.repeat(1_001)}`, ''])(
    'refuses the malformed cursor "%s", under its older name too',
    async (cursor) => {
      const path = await pathOf(operation);
      // A name that nobody has is still a place among names.
      const isName =
        /namespaces|users|workers|handlers/.test(operation.path) &&
        !['', '%00'].includes(cursor) &&
        cursor.length < 200;
      const older = fieldsOf(operation).filter((field) => field === 'after' || field === 'before');
      for (const name of ['cursor', ...older]) {
        const answer = await gateway.ask('GET', `${path}${name}=${cursor}`);
        if (isName) expect(answer.status).toBe(200);
        else if (operation.path !== '/sessions' || cursor === '') {
          expect(answer).toMatchObject({ status: 400, body: { code: 'field_invalid', field: name } });
        }
      }
    },
  );

  test('refuses filters that cannot be meant, each by its name', async () => {
    const path = await pathOf(operation);
    const malformed: Record<string, string> = {
      ...{ status: 'sleeping', type: 'odd', priority: 'max', reason: 'none', sort: 'colour', include: 'all' },
      ...{ job_id: '42', run_id: '42', label: 'team', redriven: 'maybe', since: 'soon', until: 'later' },
      ...{
        created_after: 'soon',
        created_before: 'x',
        died_after: 'x',
        died_before: 'x',
        from: 'x',
        page: '0',
      },
      ...{
        namespace: '',
        user_id: '',
        handler: '',
        worker_id: '',
        error: '',
        text: '',
        actor: '',
        action: '',
      },
    };
    for (const field of fieldsOf(operation)) {
      const value = malformed[field];
      if (value === undefined) continue;
      const url = `${path}${field}=${value}`.replace('worker_id=w&worker_id', 'worker_id');
      expect(await gateway.ask('GET', url), url).toMatchObject({ status: 400, body: { field } });
    }
    expect(await gateway.ask('GET', `${path}colour=red`)).toMatchObject({
      status: 400,
      body: { code: 'field_unknown' },
    });
  });
});

test.each(named(LISTS.filter(({ body }) => body)))(
  '%s refuses a malformed cursor',
  async (_name, { path, body }) => {
    const older = Object.keys(body!.schema.shape).filter((field) => field === 'after' || field === 'before');
    for (const name of ['cursor', ...older]) {
      const request = { action: 'cancel', filter: { handler: 'x' }, [name]: 'x' };
      const { action: _, ...redrive } = request;
      expect(await gateway.post(`/api${path}`, path.includes('bulk') ? request : redrive)).toMatchObject({
        status: 400,
        body: { code: 'field_invalid', field: name },
      });
    }
  },
);

describe('over RPC', () => {
  let served: RpcFixture;
  beforeAll(async () => {
    served = await RpcFixture.start();
  });
  afterAll(() => served.stop());

  const calls = LISTS.flatMap(({ rpc: bound }) => [bound ?? []].flat().map(({ method }) => method));
  test.each(calls.map((method) => [method.name, method] as const))(
    '%s refuses sizes and tokens that mean nothing, as REST does',
    async (_call, method: DescMethodUnary) => {
      const client = served.client(method.parent) as unknown as Record<
        string,
        (request: object) => Promise<unknown>
      >;
      const call = client[method.localName]!;
      const fields = method.input.fields.map(({ localName }) => localName);
      const { jobId } = await served.jobs().submitJob({ codeLocation: 'x', schedule: { interval: '1h' } });
      const needs = {
        ...(fields.includes('jobId') && { jobId }),
        ...(fields.includes('filter') && { filter: { handler: 'x' } }),
        ...(fields.includes('action') && { action: 'cancel' }),
      };
      const invalid = async (request: object) => {
        const { status, detail } = await refusalOf(call({ ...needs, ...request }));
        return [status, detail?.field];
      };
      const isByName = /Namespaces|Users/.test(method.name);
      if (!isByName)
        expect(await invalid({ pageToken: '\u0007' })).toEqual([Code.InvalidArgument, 'page_token']);
      if (!fields.includes('pageSize')) return;
      expect(await invalid({ pageSize: 1_001 })).toEqual([Code.InvalidArgument, 'page_size']);
      expect(await invalid({ pageSize: -1 })).toEqual([Code.InvalidArgument, 'page_size']);
    },
  );

  test('ListRuns answers what GET /api/runs does', async () => {
    const { jobId } = await served
      .jobs()
      .submitJob({ codeLocation: 'report', name: 'nightly', userId: 'ann' });
    const batch = await served.claimDue();
    await served.settle(batch, { status: 'FAILED', next: { kind: 'finish' }, error: 'Connection refused' });
    const found = await served
      .jobs()
      .listRuns({ statuses: ['FAILED'], since: '1h', error: 'refused', userId: 'ann' });
    expect(found).toMatchObject({
      runs: [{ jobId, jobName: 'nightly', namespace: 'default', handler: 'report', workerId: 'worker-1' }],
      nextPageToken: '',
    });
    expect((await served.jobs().listRuns({ statuses: ['FAILED'], error: 'timeout' })).runs).toEqual([]);
    const refused = await refusalOf(served.jobs().listRuns({ statuses: ['QUEUED', 'FAILED'] }));
    expect(refused.detail).toMatchObject({ code: 'field_invalid', field: 'statuses' });
  });
});

describe('a namespace that is not there is an error, and not an empty list', () => {
  const withNamespace = named(LISTS.filter((operation) => fieldsOf(operation).includes('namespace')));

  test.each(withNamespace)('%s', async (_name, operation) => {
    const path = `${await pathOf(operation)}namespace=`;
    await gateway.namespace('team-a');
    await gateway.namespace('team-b');
    const gone = { status: 404, body: { code: 'namespace_not_found', field: 'namespace' } };
    expect(await gateway.ask('GET', `${path}team-a&limit=1`)).toMatchObject({ status: 200 });
    expect(await gateway.ask('GET', `${path}taem-a&limit=1`)).toMatchObject(gone);
    // One that is there and one that is not look alike to whoever has no grant in them.
    const key = await gateway.keyWith({ namespace: 'team-a', role: 'admin' });
    expect(await gateway.askWith(key, 'GET', `${path}team-a&limit=1`)).toMatchObject({ status: 200 });
    expect(await gateway.askWith(key, 'GET', `${path}team-b&limit=1`)).toMatchObject(gone);
    expect(await gateway.askWith(key, 'GET', `${path}team-c&limit=1`)).toMatchObject(gone);
  });

  test('bulk changes and redrives too', async () => {
    const filter = { namespace: 'taem-a' };
    for (const [path, body] of [
      ['/api/jobs/bulk', { action: 'pause', filter }],
      ['/api/dead-letters/redrive', { filter }],
    ] as const) {
      expect(await gateway.post(path, body)).toMatchObject({
        status: 404,
        body: { code: 'namespace_not_found' },
      });
    }
  });
});

describe('what entries carry', () => {
  const LARGE = { text: 'x'.repeat(200_000) };

  test('payloads are left out of lists of jobs, unless they are asked for', async () => {
    await gateway.createdId({ name: 'job', payload: { a: 1 } });
    const [entry] = (await gateway.ask('GET', '/api/jobs')).body;
    expect(entry).not.toHaveProperty('payload');
    for (const sort of ['created_at', 'name']) {
      const asked = await gateway.ask('GET', `/api/jobs?include=payload&sort=${sort}`);
      expect(asked.body).toMatchObject([{ payload: { a: 1 } }]);
    }
  });

  test.each(['created_at', 'name'])(
    'a list of large jobs by %s ends early, and its cursor goes on',
    async (sort) => {
      for (let i = 0; i < 30; i += 1) await gateway.createdId({ name: `job ${10 + i}`, payload: LARGE });
      let url: string | undefined = `/api/jobs?include=payload&limit=30&sort=${sort}`;
      const found: string[] = [];
      let answers = 0;
      while (url !== undefined) {
        const page: Awaited<ReturnType<GatewayFixture['ask']>> = await gateway.ask('GET', url);
        expect(JSON.stringify(page.body).length).toBeLessThan(LIST_BYTES_MAX * 1.1);
        found.push(...page.body.map(({ name }: { name: string }) => name));
        url = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1];
        answers += 1;
      }
      expect(found).toEqual(Array.from({ length: 30 }, (_, i) => `job ${10 + i}`));
      expect(answers).toBe(2);
      expect((await gateway.ask('GET', '/api/jobs?limit=30')).body).toHaveLength(30);
    },
  );

  test('the audit log, where every change of a job lies twice, is cut as well', async () => {
    const jobId = await gateway.createdId({ name: 'job', payload: LARGE });
    for (let i = 0; i < 20; i += 1) {
      await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: { payload: { ...LARGE, i } } });
    }
    const page = await gateway.ask('GET', '/api/audit?limit=1000');
    expect(JSON.stringify(page.body).length).toBeLessThan(LIST_BYTES_MAX * 1.1);
    expect(page.headers.link).toMatch(/cursor=\d+>; rel="next"/);
  });

  test('results are left out of lists of runs, unless they are asked for', async () => {
    const jobId = await gateway.createdId({ name: 'job' });
    const batch = await gateway.claimDue();
    const { leaseId, position, epoch } = batch.runs[0]!;
    const times = { startedAtMs: gateway.clock.now(), endedAtMs: gateway.clock.now() };
    const ended = { leaseId, position, leaseSize: undefined, epoch, error: undefined, ...times };
    await gateway.storage.leases.settle(
      [{ ...ended, status: 'SUCCESS', result: '{"rows":7}', next: { kind: 'finish' } }],
      gateway.clock.now(),
    );
    for (const list of [`/api/jobs/${jobId}/runs`, '/api/runs', `/api/runs?job_id=${jobId}`]) {
      const [entry] = (await gateway.ask('GET', list)).body;
      expect(entry).toMatchObject({ status: 'SUCCESS' });
      expect(entry).not.toHaveProperty('result');
      const asked = await gateway.ask('GET', `${list}${list.includes('?') ? '&' : '?'}include=result`);
      expect(asked.body).toMatchObject([{ result: { rows: 7 } }]);
    }
  });
});

test('what failed in the last hour is one request, with the job of each', async () => {
  await gateway.createdId({ name: 'good' });
  await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
  gateway.clock.advance(7_200_000);
  const jobId = await gateway.createdId({ name: 'bad', labels: { team: 'x' }, handler: 'mail' });
  const end = { status: 'FAILED', next: { kind: 'finish' }, error: 'the answer was 503' } as const;
  await gateway.settle(await gateway.claimDue(), end);
  const list = async (query: string) => (await gateway.ask('GET', `/api/runs?${query}`)).body;
  const failed = {
    ...{ job_id: jobId, job_name: 'bad', namespace: 'default', handler: 'mail', status: 'FAILED' },
    ...{ worker_id: 'worker-1', error_message: 'the answer was 503', started_at: '2030-01-01T14:00:00.000Z' },
  };
  expect(await list('status=failed&since=1h')).toMatchObject([failed]);
  expect(await list('status=failed,timed_out&since=1h')).toMatchObject([failed]);
  expect((await gateway.ask('GET', '/api/runs?status=timedout')).body.detail).toContain(
    'timed_out, skipped, returned, lost (did you mean "timed_out"?).',
  );
  expect(await list('since=2030-01-01T13:00:00Z&label=team:x&worker_id=worker-1&error=503')).toMatchObject([
    failed,
  ]);
  expect(await list('until=1h')).toMatchObject([{ job_name: 'good' }]);
  expect(await list('')).toHaveLength(2);
  expect(await gateway.ask('GET', '/api/runs?status=queued,failed')).toMatchObject({
    status: 400,
    body: { code: 'field_invalid', field: 'status' },
  });
  expect(await gateway.ask('GET', '/api/runs?job_id=01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f')).toMatchObject({
    status: 404,
    body: { code: 'job_not_found' },
  });
});

test('every instant of an answer is named at or …_at, and every other name of one is deprecated', () => {
  const { components } = buildOpenApi(TABLE, '1.0');
  interface Property {
    readonly format?: string;
    readonly anyOf?: readonly Property[];
    readonly deprecated?: boolean;
  }
  const isInstant = ({ format, anyOf = [] }: Property): boolean =>
    format === 'date-time' || anyOf.some(isInstant);
  const odd = Object.entries(components.schemas).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties as Record<string, Property>)
      .filter(([name, property]) => isInstant(property) && !/^(.*_)?at$/.test(name) && !property.deprecated)
      .map(([name]) => `${schema}.${name}`),
  );
  // As CloudEvents has it, as a job is given it, as a span of time is asked for, and of what is shown.
  const jobs = ['Job', 'JobActed', 'JobApplied', 'JobRestored', 'ListedJob'].map(
    (schema) => `${schema}.schedule_time`,
  );
  const spans = ['LiveUpdate.as_of', 'Stats.from', 'Stats.to', 'StatsNow.as_of'];
  expect(odd.toSorted()).toEqual(['Event.time', ...jobs, ...spans].toSorted());
});

test('every id of an answer is named id or …_id, several of them …_ids, and each is a text', () => {
  interface Property {
    readonly format?: string;
    readonly type?: string | readonly string[];
    readonly anyOf?: readonly Property[];
    readonly items?: Property;
    readonly deprecated?: boolean;
  }
  const { components } = buildOpenApi(TABLE, '1.0');
  const of = (property: Property, is: (one: Property) => boolean): boolean =>
    is(property) || (property.anyOf ?? []).some((one) => of(one, is));
  const isId = (property: Property) => of(property, ({ format }) => format === 'uuid');
  const areIds = (property: Property) => of(property, ({ items }) => items !== undefined && isId(items));
  const named = Object.entries(components.schemas).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties as Record<string, Property>).map(([name, property]) => ({
      ...{ at: `${schema}.${name}`, name, property },
    })),
  );
  const current = named.filter(({ property }) => !property.deprecated);
  const odd = current.filter(
    ({ name, property }) =>
      (isId(property) && !/^(.*_)?id$/.test(name)) || (areIds(property) && !/_ids$/.test(name)),
  );
  // A cursor, which programs do not take apart; and runs that are named by what they are to the run.
  const kept = ['BulkReport.next', 'DeadLetter.resolved_by', 'Redriven.redriven_from'];
  expect(odd.map(({ at }) => at).toSorted()).toEqual(kept);
  const others = current.filter(
    ({ name, property }) =>
      /(^|_)id$/.test(name) && !of(property, ({ type }) => [type].flat().includes('string')),
  );
  // A number that grows with the log.
  expect(others.map(({ at }) => at)).toEqual(['AuditEntry.audit_id']);
});

test('each older name of a field holds what the newer one does', async () => {
  const jobId = await gateway.createdId({ name: 'job', frequency: 'daily' });
  await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
  await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
  const [run] = (await gateway.ask('GET', `/api/jobs/${jobId}/runs`)).body;
  expect([run.start_time, run.end_time, run.modified_time, run.executor_id]).toEqual([
    ...[run.started_at, run.ended_at, run.updated_at, run.worker_id],
  ]);
  const job = (await gateway.ask('GET', `/api/jobs/${jobId}`)).body;
  expect(job.next_run_time).toBe(job.next_run_at);
  const schema = JSON.stringify(buildOpenApi(TABLE, '1.0').paths['/api/jobs']!.get!.parameters);
  expect(schema).toContain('{"name":"after","in":"query","deprecated":true');
  expect(rpc.RunSchema.fields.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['executor_id', 'worker_id', 'start_time', 'started_at']),
  );
});
