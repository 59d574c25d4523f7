/**
 * The server's side of the protocol of workers, played by a test: it assigns what the test says, answers as the rules want it unless
 * the test says otherwise, and keeps everything it was told. What a real server never does on purpose, this one does when asked.
 */
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import {
  OutcomeKind,
  type Output,
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
  type Verdict,
  WorkerService,
} from '../../../packages/worker/src/protocol/generated/carillon/worker/v1/workers_pb.js';
import { eventually } from '../../support/eventually.ts';

export interface Script {
  readonly beatMs: number;
  readonly trustMs: number;
  readonly outputWindow: number;
  /** Leaves hellos and beats without an answer. */
  isMute: boolean;
  /** Leaves ends without an answer. */
  keepsEndsOpen: boolean;
  /** Answers every checkpoint with this. */
  checkpointError: string;
  /** Leases to disown, in the welcome and in answers to beats. */
  unknownLeases: string[];
  /** Declares the worker dead with the next beat. */
  buries: boolean;
  /** Says in every answer that somebody asked the worker to drain. */
  draining: boolean;
  /** Refuses every stream with this. */
  refusal: ConnectError | undefined;
  /** What the welcome says is spoken. */
  readonly protocol: number;
  /** Answers hellos with this instead of a welcome. */
  readonly goodbye: Goodbye | undefined;
  /** Says in every message what this protocol does not know, and answers ends with a verdict of a later one. */
  readonly isNewer: boolean;
  /** Does not end the stream of a worker that leaves. */
  readonly ignoresLeave: boolean;
}

export interface RunToAssign {
  readonly handler: string;
  readonly payload?: object;
  readonly epoch?: number;
  readonly timeoutMs?: number;
  readonly checkpoint?: string;
  readonly secrets?: readonly string[];
}

export interface ToldEnd {
  readonly kind: keyof typeof OutcomeKind;
  readonly error: string;
  readonly retryable: boolean;
  readonly result: unknown;
  readonly epoch: number;
}

export const KEY = 'a-worker-key';
interface Goodbye {
  readonly reason: string;
  readonly dialAgain: boolean;
}

const LIMIT_MS = 60_000;
const LATER_VERDICT = 99 as Verdict;
/** The numbers of fields are below 2^29. */
const LATER_FIELD = { no: 536_870_911, wireType: 2, data: Uint8Array.of(3, 1, 2, 3) };

export class Session {
  readonly received: SessionRequest[] = [];
  #waiting: SessionResponse[] = [];
  #wake = Promise.withResolvers<void>();
  isOver = false;
  readonly #isNewer: boolean;

  constructor({ isNewer = false } = {}) {
    this.#isNewer = isNewer;
  }

  get hello() {
    return this.received[0]?.hello;
  }

  send(message: MessageInitShape<typeof SessionResponseSchema>): void {
    const response = create(SessionResponseSchema, message);
    if (this.#isNewer)
      for (const part of [response, response.welcome, response.beatAnswer, ...response.assigns])
        if (part) part.$unknown = [LATER_FIELD];
    this.#waiting.push(response);
    this.#wake.resolve();
  }

  end(): void {
    this.isOver = true;
    this.#wake.resolve();
  }

  async *messages(): AsyncGenerator<SessionResponse> {
    for (;;) {
      yield* this.#waiting.splice(0);
      if (this.isOver) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}

export class ScriptedServer {
  readonly script: Script;
  readonly sessions: Session[] = [];
  readonly outputs: Output[] = [];
  readonly checkpoints: { readonly leaseId: string; readonly position: number; readonly value: unknown }[] =
    [];
  /** How many streams were refused as the script says. */
  refused = 0;
  /** The most output that was on its way at one time. */
  outputAheadMax = 0;
  #ends = new Map<string, ToldEnd[]>();
  readonly #connections = new Set<ServerHttp2Session>();
  readonly #server: Http2Server;

  constructor(script: Partial<Script> = {}) {
    this.script = {
      ...{ beatMs: 200, trustMs: 30_000, outputWindow: 64 * 1_024, isMute: false, keepsEndsOpen: false },
      ...{ checkpointError: '', unknownLeases: [], buries: false, draining: false, ignoresLeave: false },
      ...{ isNewer: false, protocol: 1, goodbye: undefined },
      refusal: undefined,
      ...script,
    };
    const routes = (router: ConnectRouter) =>
      router.service(WorkerService, {
        session: (requests, context) => this.#session(requests, context.requestHeader),
      });
    this.#server = createServer(connectNodeAdapter({ routes }));
    this.#server.on('session', (connection) => {
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection)).on('error', () => undefined);
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The network breaks: every connection, without a word. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  async stop(): Promise<void> {
    for (const session of this.sessions) session.end();
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The newest session, once there are so many. */
  async session(number = 1): Promise<Session> {
    return eventually(
      () => {
        const session = this.sessions[number - 1];
        if (!session?.hello) throw new Error(`${this.sessions.length} sessions, not ${number}`);
        return session;
      },
      { withinMs: LIMIT_MS },
    );
  }

  assign(
    session: Session,
    leaseId: string,
    runs: readonly RunToAssign[],
    more: Pick<MessageInitShape<typeof SessionResponseSchema>, 'cancels'> = {},
  ): void {
    const column = <T>(read: (run: RunToAssign, index: number) => T): T[] => runs.map(read);
    const extras = runs.flatMap(({ checkpoint = '', secrets = [] }, position) =>
      checkpoint === '' && secrets.length === 0 ? [] : [{ position, checkpoint, secrets: [...secrets] }],
    );
    const assign = {
      leaseId,
      claimedAtMs: BigInt(Date.now()),
      runIds: column((_, index) => runIdOf(leaseId, index)),
      jobIds: column((_, index) => `job-${index}`),
      epochs: column(({ epoch = 1 }) => epoch),
      attempts: column(() => 1),
      scheduledAtMs: column(() => BigInt(Date.now())),
      timeoutMs: column(({ timeoutMs = 300_000 }) => timeoutMs),
      handlers: column(({ handler }) => handler),
      payloads: column(({ payload = {} }) => JSON.stringify(payload)),
      extras,
    };
    session.send({ assigns: [assign], ...more });
  }

  /** The ends that were told of a run, each time it was told. */
  endsOf(leaseId: string, position = 0): readonly ToldEnd[] {
    return this.#ends.get(`${leaseId}/${position}`) ?? [];
  }

  async ended(leaseId: string, position = 0): Promise<ToldEnd> {
    return eventually(
      () => {
        const [end] = this.endsOf(leaseId, position);
        if (!end) throw new Error(`no end of run ${position} was told`);
        return end;
      },
      { withinMs: LIMIT_MS },
    );
  }

  textOf(leaseId: string, position: number, stream: number): string {
    const ofRun = this.outputs.filter(
      (output) => output.leaseId === leaseId && output.position === position && output.stream === stream,
    );
    return Buffer.concat(ofRun.map(({ bytes }) => bytes)).toString();
  }

  async *#session(requests: AsyncIterable<SessionRequest>, headers: Headers) {
    const isKnown = headers.get('authorization') === `Bearer ${KEY}`;
    if (!isKnown || this.script.refusal) {
      // The library of Python forgets the reason of a refusal that comes while it writes the hello: refuse after it.
      await requests[Symbol.asyncIterator]().next();
      if (!isKnown) throw new ConnectError('This key may not connect workers.', Code.Unauthenticated);
      this.refused += 1;
      throw this.script.refusal;
    }
    const session = new Session({ isNewer: this.script.isNewer });
    this.sessions.push(session);
    void this.#read(session, requests).finally(() => session.end());
    yield* session.messages();
  }

  async #read(session: Session, requests: AsyncIterable<SessionRequest>): Promise<void> {
    try {
      for await (const message of requests) {
        session.received.push(message);
        this.#answer(session, message);
      }
    } catch {
      // The stream was cut.
    }
  }

  #answer(session: Session, { hello, beat, ended, checkpoints, outputs, leave }: SessionRequest): void {
    const { beatMs, trustMs, outputWindow, isMute, keepsEndsOpen, checkpointError, buries, draining } =
      this.script;
    const unknownLeases = [...this.script.unknownLeases];
    if (hello && this.script.goodbye) session.send({ goodbye: this.script.goodbye });
    else if (hello && !isMute) {
      const { workerId } = hello;
      const times = { beatMs, trustMs };
      session.send({
        welcome: {
          protocol: this.script.protocol,
          workerId,
          ...times,
          outputWindow,
          unknownLeases,
          draining,
        },
      });
    }
    if (beat && !isMute) {
      this.script.buries = false;
      session.send({ beatAnswer: { sequence: beat.sequence, unknownLeases, buried: buries, draining } });
    }
    const verdict = this.script.isNewer ? LATER_VERDICT : 0;
    for (const { leaseId, positions, epochs, outcomes } of ended) {
      for (const [i, position] of positions.entries()) {
        const outcome = outcomes.find((each) => each.position === position);
        const { kind = OutcomeKind.SUCCESS, error = '', retryable = false, result = '' } = outcome ?? {};
        const name = `${leaseId}/${position}`;
        const end: ToldEnd = {
          ...{ error, retryable, epoch: epochs[i] ?? 0 },
          kind: OutcomeKind[kind] as keyof typeof OutcomeKind,
          result: result === '' ? undefined : JSON.parse(result),
        };
        this.#ends.set(name, [...(this.#ends.get(name) ?? []), end]);
      }
      if (!keepsEndsOpen)
        session.send({ settled: [{ leaseId, positions, verdicts: positions.map(() => verdict) }] });
    }
    for (const { sequence, leaseId, position, value } of checkpoints) {
      this.checkpoints.push({ leaseId, position, value: JSON.parse(value) });
      session.send({ checkpointAnswers: [{ sequence, error: checkpointError }] });
    }
    const bytes = outputs.reduce((sum, output) => sum + output.bytes.length, 0);
    this.outputs.push(...outputs);
    this.outputAheadMax = Math.max(this.outputAheadMax, bytes);
    if (bytes > 0) session.send({ outputsTaken: [{ bytes: BigInt(bytes) }] });
    if (leave && !this.script.ignoresLeave) session.end();
  }
}

export function runIdOf(leaseId: string, position: number): string {
  return `run-${leaseId}-${position}`;
}
