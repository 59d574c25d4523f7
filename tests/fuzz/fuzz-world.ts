/** A gateway with one of everything behind it and callers of every kind before it, and the judge of every answer it gives. */
import { problemAnswer } from '@carillon/contract';
import { expect } from 'vitest';
import { allOperations } from '../../packages/server/src/gateway/api/all-operations.ts';
import type { ApiContext, Operation } from '../../packages/server/src/gateway/api/operation.ts';
import type { GatewayFixture } from '../../packages/server/src/gateway/gateway.fixture.ts';
import { FuzzCallers, mayAsk } from './fuzz-callers.ts';
import type { FuzzRequest } from './request-arbitrary.ts';

const ANSWER_MS_MAX = 60_000;
const endpoints = allOperations({ operations: {}, address: '' } as unknown as ApiContext);

export class FuzzWorld {
  readonly #gateway: GatewayFixture;
  readonly #callers: FuzzCallers;
  readonly #ids: string[] = [];
  readonly #statuses: number[] = [];

  private constructor(gateway: GatewayFixture) {
    this.#gateway = gateway;
    this.#callers = new FuzzCallers(gateway);
  }

  /** With one of everything, so that paths lead somewhere from the first request on. */
  static async around(gateway: GatewayFixture): Promise<FuzzWorld> {
    const world = new FuzzWorld(gateway);
    await gateway.operations.createNamespace({ name: 'team-a' });
    for (const ending of ['SUCCESS', 'FAILED', 'waits'] as const) {
      const jobId = await gateway.createdId({ name: ending, cron_expression: '0 9 * * *', user_id: 'ann' });
      const { body } = await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
      world.#ids.push(jobId, body.run_id);
      if (ending === 'waits') continue;
      const next =
        ending === 'SUCCESS'
          ? ({ kind: 'finish' } as const)
          : ({ kind: 'dead', reason: 'retries_exhausted' } as const);
      await gateway.settle(await gateway.claimDue(), { status: ending, next, error: 'no' });
    }
    world.#ids.push('worker-1', 'team-a', 'default');
    return world;
  }

  /** How many answers had a status from the first on, up to the second. */
  answered(from: number, to: number): number {
    return this.#statuses.filter((status) => status >= from && status < to).length;
  }

  async check(request: FuzzRequest): Promise<void> {
    this.#statuses.push(await this.#statusOf(request));
  }

  async #statusOf(request: FuzzRequest): Promise<number> {
    const url = this.#urlOf(request);
    const { method, body } = request;
    const asking = await this.#callers.find(request.as);
    const headers: Record<string, string> = { ...request.headers, ...asking.headers };
    if (body) headers['content-type'] = 'application/json';
    // As a stream it would go on for ever.
    if (request.path === '/api/events' || request.path === '/api/live') headers.accept = 'application/json';
    const payload = body && ('json' in body ? (JSON.stringify(body.json) ?? '') : body.text);
    const answer = await inTime(
      this.#gateway.app.inject({
        method: method as 'GET',
        url,
        headers,
        ...(payload !== undefined && { payload }),
      }),
    );
    const { statusCode: status, body: text } = answer;
    const about = `${request.as}: ${method} ${url} ${payload ?? ''} → ${status} ${text.slice(0, 500)} ${JSON.stringify(this.#gateway.errors.at(-1)?.facts, errorsToo) ?? ''}`;
    expect(status, about).toBeLessThan(500);
    expect(answer.headers['x-request-id'], about).toBeTypeOf('string');
    if (status === 401) this.#callers.forget(request.as);
    const described = endpointOf(method, url);
    if (described && status < 400) expect(mayAsk(asking, described.access), about).toBe(true);
    if (method === 'HEAD' || method === 'OPTIONS' || status === 204) return status;
    if (status >= 400) {
      expect(answer.headers['content-type'], about).toContain('application/problem+json');
      const problem = problemAnswer.safeParse(JSON.parse(text));
      expect(problem.error, about).toBeUndefined();
      expect(problem.data?.status, about).toBe(status);
      return status;
    }
    const promised = described?.answers[status];
    expect(promised, about).toBeDefined();
    // The log of a run is text to those who ask for a part of it.
    const isLog = /\/logs(\?|$)/.test(url) && String(answer.headers['content-type']).startsWith('text/plain');
    if (promised?.schema && !isLog) {
      expect(answer.headers['content-type'], about).toContain('application/json');
      expect(promised.schema.safeParse(JSON.parse(text)).error, about).toBeUndefined();
    }
    this.#remember(text);
    return status;
  }

  #urlOf({ path, params, query }: FuzzRequest): string {
    let part = 0;
    const filled = path.replaceAll(/\{\w+\}/g, () => {
      const value = params[part++];
      return encoded(typeof value === 'number' ? this.#ids[value % this.#ids.length]! : (value ?? 'x'));
    });
    const pairs = query.flatMap(([name, value]) =>
      [value]
        .flat()
        .map((one) => `${name}=${encoded(typeof one === 'string' ? one : (JSON.stringify(one) ?? ''))}`),
    );
    return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
  }

  #remember(text: string): void {
    for (const [, id] of text.matchAll(
      /"(?:job_id|run_id|key_id|user_id|session_id|name)":"([^"\\]{1,60})"/g,
    )) {
      if (this.#ids.length < 200 && id && !this.#ids.includes(id)) this.#ids.push(id);
    }
  }
}

/** Found by the address that is asked in the end: a dot segment among the parameters makes it the address of another operation. */
function endpointOf(method: string, url: string): Operation | undefined {
  // The router takes a trailing slash for none.
  const pathname = new URL(url, 'http://x').pathname.replace(/\/+$/, '');
  const named = endpoints.filter(
    (endpoint) =>
      [endpoint.method].flat().includes(method as 'GET') && patternOf(`/api${endpoint.path}`).test(pathname),
  );
  return named.find(({ path }) => !path.includes('{')) ?? named[0];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** Half a surrogate pair cannot be encoded; a client that tries sends the broken byte sequence. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}

function errorsToo(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value;
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS_MAX} ms`)), ANSWER_MS_MAX);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
