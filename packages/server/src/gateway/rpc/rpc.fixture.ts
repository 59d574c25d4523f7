/** For tests: the calls served on a port over operations in memory, and clients that speak every protocol to it. */
import type { AddressInfo } from 'node:net';
import type { DescService } from '@bufbuild/protobuf';
import { rpc } from '@carillon/contract';
import { type Caller, Refusal, SERVER } from '@carillon/domain';
import { type Log, silentLog } from '@carillon/foundation';
import {
  type Client,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import fastify, { type FastifyInstance } from 'fastify';
import { OperationsFixture } from '../../operations/operations.fixture.ts';
import { answerProblems } from '../answer-problems.ts';
import { allOperations } from '../api/all-operations.ts';
import type { ApiContext } from '../api/operation.ts';
import { createListener, type ListenerOptions } from '../listener/create-listener.ts';
import { closeConnections } from '../listener/open-connections.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { allMethods } from './all-methods.ts';
import { mountRpc } from './mount-rpc.ts';
import type { RpcMethod } from './rpc-method.ts';

export const KEY = 'correct-horse-battery-staple';

export const PROTOCOLS = {
  'gRPC over HTTP/2': (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors }),
  'gRPC-Web over HTTP/1.1': (baseUrl, interceptors) =>
    createGrpcWebTransport({ baseUrl, interceptors, httpVersion: '1.1' }),
  'gRPC-Web over HTTP/2': (baseUrl, interceptors) =>
    createGrpcWebTransport({ baseUrl, interceptors, httpVersion: '2' }),
  'Connect over HTTP/1.1': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect over HTTP/2': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '2' }),
} as const satisfies Record<string, (baseUrl: string, interceptors: Interceptor[]) => Transport>;

export type ProtocolName = keyof typeof PROTOCOLS;

export class RpcFixture extends OperationsFixture {
  readonly errors: { readonly facts: object; readonly message: string }[] = [];
  readonly listener;
  readonly app: FastifyInstance;
  readonly methods: readonly RpcMethod[];
  readiness: () => Promise<Readiness> = async () => ({ ready: true, reasons: [] });
  /** Who has the key. */
  caller: Caller = SERVER;
  /** Why the key no longer lets anybody in. */
  revoked: Refusal | undefined;

  protected constructor(options: ListenerOptions) {
    super();
    const log: Log = { ...silentLog, error: (facts, message) => void this.errors.push({ facts, message }) };
    this.listener = createListener(options);
    this.app = fastify({ serverFactory: this.listener.serverFactory });
    this.app.setErrorHandler(answerProblems(log).onError);
    closeConnections(this.app, this.listener.connections);
    this.app.get('/plain', async () => ({ plain: true }));
    const readiness = () => this.readiness();
    const operations = this.everyones;
    const table = allOperations({
      operations,
      address: '',
      charge: () => undefined,
    } as unknown as ApiContext);
    this.methods = allMethods({ table, operations, readiness, clock: this.clock });
    mountRpc(this.app, {
      methods: this.methods,
      bodyLimitBytes: 1024 * 1024,
      clock: this.clock,
      log,
      authenticate: async ({ headers }) => {
        if (this.revoked) throw this.revoked;
        if (headers.authorization === `Bearer ${KEY}`) return this.caller;
        throw new Refusal('unauthorized', 'The key is not valid.');
      },
    });
  }

  static async start(options: ListenerOptions = {}): Promise<RpcFixture> {
    const fixture = new this(options);
    await fixture.app.listen({ port: 0, host: '127.0.0.1' });
    return fixture;
  }

  get port(): number {
    return (this.app.server.address() as AddressInfo).port;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A key of null: without one. */
  client<Service extends DescService>(
    service: Service,
    { protocol = 'gRPC over HTTP/2' as ProtocolName, key = KEY as string | null } = {},
  ): Client<Service> {
    const withKey: Interceptor = (next) => (request) => {
      if (key !== null) request.header.set('authorization', `Bearer ${key}`);
      return next(request);
    };
    return createClient(service, PROTOCOLS[protocol](this.address, [withKey]));
  }

  jobs(protocol: ProtocolName = 'gRPC over HTTP/2') {
    return this.client(rpc.JobService, { protocol });
  }

  /** What happens only as time goes by: a second at a time, with turns for everybody else in between. */
  async asTimePasses<T>(happens: Promise<T>): Promise<T> {
    let waiting = true;
    const done = () => {
      waiting = false;
    };
    happens.then(done, done);
    while (waiting) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(1_000);
    }
    return happens;
  }

  async stop(): Promise<void> {
    await this.app.close();
  }
}

export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** What a call was refused with. */
export async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => {
      throw new Error('the call was answered');
    },
    (reason: unknown) => ConnectError.from(reason),
  );
  const [detail] = error.findDetails(rpc.ErrorDetailSchema);
  return { status: error.code, message: error.rawMessage, detail };
}
