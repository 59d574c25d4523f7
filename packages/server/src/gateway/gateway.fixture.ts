/** For tests: a gateway over operations in memory, with its key and short ways to ask. */
import { type Action, DEFAULT_NAMESPACE, EVERYWHERE, type Grant, type User } from '@carillon/domain';
import { type Log, silentLog } from '@carillon/foundation';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { OperationsFixture } from '../operations/operations.fixture.ts';
import { createGateway, type GatewayOptions } from './create-gateway.ts';

export const KEY = 'correct-horse-battery-staple';

export const PASSWORD = 'a long phrase of their own';

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
      accounts: this.accounts,
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

  /** As whoever has the key. */
  async askWith(
    key: string,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    given: Partial<InjectOptions> = {},
  ) {
    return this.ask(method, url, { ...given, headers: { ...given.headers, authorization: `Bearer ${key}` } });
  }

  /** A key with this grant: of the installation, or of a user. Its namespace is made if it is not there. */
  async keyWith(
    grant: Partial<Grant>,
    options: { scopes?: readonly Action[]; ownerId?: string; expiresAtMs?: number } = {},
  ): Promise<string> {
    const whole: Grant = { namespace: DEFAULT_NAMESPACE, role: 'viewer', ownOnly: false, ...grant };
    await this.namespace(whole.namespace);
    const made = await this.operations.createKey({ name: `${whole.role} key`, grants: [whole], ...options });
    return made.secret;
  }

  /** A user with these grants, who signs in with PASSWORD. */
  async person(name: string, grants: readonly Partial<Grant>[] = [{}]): Promise<User> {
    const whole = grants.map((grant): Grant => {
      return { namespace: DEFAULT_NAMESPACE, role: 'viewer', ownOnly: false, ...grant };
    });
    for (const grant of whole) await this.namespace(grant.namespace);
    return this.operations.createUser({ name, password: PASSWORD, grants: whole });
  }

  async namespace(name: string): Promise<void> {
    if (name === EVERYWHERE || !(await this.accounts.namespaces.missing([name])).includes(name)) return;
    await this.operations.createNamespace({ name });
  }

  /** The headers that a browser sends after signing in. */
  async signIn(name: string, password = PASSWORD): Promise<{ cookie: string; 'x-csrf-token': string }> {
    const answer = await this.post('/api/session', { name, password });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    const [cookie] = String(answer.headers['set-cookie']).split(';');
    return { cookie: cookie!, 'x-csrf-token': answer.body.csrf_token };
  }

  /** Without the key: as a browser, or as nobody. */
  async askAs(
    headers: Record<string, string>,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
  ) {
    const response = await this.app.inject({ method, url, headers, ...(payload && { payload }) });
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
