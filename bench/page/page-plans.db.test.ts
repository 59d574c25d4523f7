/**
 * What PostgreSQL does for every request of the page, over a store that is filled and analysed: no table that grows is read from one
 * end to the other, and no statement touches more rows than a list may look through, however many there are.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import { textArray } from '../../packages/server/src/postgres/array-literal.ts';
import { type StartedTestServer, startTestServer } from '../../packages/server/src/testing/index.ts';
import { createTestDatabase, describeEachPostgres, type TestDatabase } from '../../tests/support/postgres.ts';
import { fillPageStore } from './fill-page-store.ts';
import { nameOf } from './measure-requests.ts';
import { type PageRequest, pageRequests, viewedNamespace } from './page-requests.ts';
import { handlers, PlannedStore } from './planned-store.ts';

/** More of each than a list looks through. */
const jobs = 30_000;
const runs = 60_000;
const growing = /^(due|jobs|cursors|dead_letters|audit_log|admissions|job_runs\w*)$/;
/** Of one statement: the rows that a list looks through, what is found for each of them, and where it stopped. */
const touchedMax = 55_000;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Explained {
  readonly text: string;
  readonly plan: PlanNode;
}

/** Explains what connections of this process are asked while it watches, each statement with the plan that it has there. */
class PlanWatch {
  readonly #query = pg.Client.prototype.query;
  #watched: Promise<Explained>[] = [];
  #isWatching = false;

  constructor() {
    const ask = this.#query as (...given: unknown[]) => unknown;
    const watch = (client: pg.Client, given: unknown) => this.#watch(client, given);
    pg.Client.prototype.query = function query(this: pg.Client, ...given: unknown[]) {
      watch(this, given[0]);
      return ask.apply(this, given);
    } as typeof pg.Client.prototype.query;
  }

  async during(work: () => Promise<unknown>): Promise<Explained[]> {
    this.#isWatching = true;
    this.#watched = [];
    try {
      await work();
    } finally {
      this.#isWatching = false;
    }
    return Promise.all(this.#watched);
  }

  end(): void {
    pg.Client.prototype.query = this.#query;
  }

  /** Queries of one connection are carried out in order: these come before the one that is watched. */
  #watch(client: pg.Client, given: unknown): void {
    const { text, values = [] } = (given ?? {}) as { text?: string; values?: readonly unknown[] };
    if (!this.#isWatching || text === undefined || !/^\s*(SELECT|WITH|\()/.test(text)) return;
    if (/\b(INSERT|UPDATE|DELETE|set_config|pg_advisory\w+)\b/.test(text)) return;
    const query = this.#query as (this: pg.Client, sql: string) => Promise<pg.QueryResult>;
    const ask = (sql: string) => query.call(client, sql);
    const literals = values.map(literalOf).join(', ');
    ask(`PREPARE watched AS ${text}`).catch(() => undefined);
    const explained = ask(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE watched${literals === '' ? '' : `(${literals})`}`,
    );
    ask('DEALLOCATE watched').catch(() => undefined);
    const plan = explained.then(({ rows }) => ({
      text,
      plan: (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan,
    }));
    plan.catch(() => undefined);
    this.#watched.push(plan);
  }
}

function literalOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return pg.escapeLiteral(textArray(value.map((each) => each && String(each))));
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));
}

const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];

function touched(plan: PlanNode): number {
  return all(plan)
    .filter((node) => growing.test(node['Relation Name'] ?? ''))
    .reduce((sum, node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return sum + (node['Actual Rows'] + removed) * node['Actual Loops'];
    }, 0);
}

describeEachPostgres('the requests of the page', (server) => {
  let database: TestDatabase;
  let carillon: StartedTestServer;
  let requests: readonly PageRequest[];
  let clients: Record<PageRequest['by'], Carillon>;
  let watch: PlanWatch;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    const plan = new PlannedStore({ jobs, runs, nowMs: Date.now() });
    await fillPageStore({ databaseUrl: database.url, plan, abort: new AbortController().signal });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('VACUUM (ANALYZE)');
    await client.end();
    carillon = await startTestServer({
      databaseUrl: database.url,
      handlers: { [handlers[0]]: () => undefined },
    });
    const admin = new Carillon({ url: carillon.url, key: carillon.key });
    const { key } = await admin.keys.create({ name: 'viewer', namespace: viewedNamespace, role: 'viewer' });
    clients = { admin, viewer: new Carillon({ url: carillon.url, key }) };
    requests = await pageRequests(admin, plan);
    watch = new PlanWatch();
  }, 600_000);

  afterAll(async () => {
    watch?.end();
    await carillon?.stop();
    await database?.drop();
  });

  it('read no table that grows from end to end, and a bounded part of each', async () => {
    const wrong: string[] = [];
    let statements = 0;
    for (const request of requests) {
      const explained = await watch.during(() => request.send(clients[request.by]));
      statements += explained.length;
      for (const { text, plan } of explained) {
        const about = `${nameOf(request)}: ${text.replace(/\s+/g, ' ').trim().slice(0, 160)}`;
        for (const node of all(plan))
          if (node['Node Type'] === 'Seq Scan' && growing.test(node['Relation Name'] ?? ''))
            wrong.push(`all of ${node['Relation Name']}: ${about}`);
        if (touched(plan) > touchedMax) wrong.push(`${touched(plan)} rows: ${about}`);
      }
    }
    expect([...new Set(wrong)]).toEqual([]);
    expect(statements).toBeGreaterThan(requests.length);
  }, 600_000);
});
