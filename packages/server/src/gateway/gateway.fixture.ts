/** For tests: a gateway over operations in memory, with its key and short ways to ask. */
import { type Log, silentLog } from '@carillon/foundation';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { OperationsFixture } from '../operations/operations.fixture.ts';
import { createGateway, type GatewayOptions } from './create-gateway.ts';

export const KEY = 'correct-horse-battery-staple';

export interface LoggedLine {
  readonly facts: object;
  readonly message: string;
}

export class GatewayFixture extends OperationsFixture {
  readonly errors: LoggedLine[] = [];
  readonly app: FastifyInstance;

  constructor(options: Partial<GatewayOptions> = {}) {
    super();
    const log: Log = { ...silentLog, error: (facts, message) => void this.errors.push({ facts, message }) };
    this.app = createGateway({
      operations: this.everyones,
      authenticate: { adminKey: KEY },
      log,
      readiness: async () => ({ ready: true, reasons: [] }),
      bodyLimitBytes: 1024 * 1024,
      ...options,
    });
  }

  /** With the key; the answer is parsed. */
  async ask(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    given: Partial<InjectOptions> = {},
  ) {
    const headers = { authorization: `Bearer ${KEY}`, ...given.headers };
    const response = await this.app.inject({ ...given, method, url, headers });
    const { statusCode: status, headers: answered } = response;
    return { status, headers: answered, body: response.body === '' ? undefined : JSON.parse(response.body) };
  }

  async post(url: string, body: object, headers: Record<string, string> = {}) {
    return this.ask('POST', url, { payload: body, headers });
  }

  /** A body exactly as written. */
  async postText(url: string, text: string | Buffer, type = 'application/json') {
    return this.ask('POST', url, { payload: text, headers: { 'content-type': type } });
  }

  async createdId(body: object): Promise<string> {
    const answer = await this.post('/api/jobs', body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body.job_id;
  }
}
