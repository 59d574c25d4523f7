/**
 * The home of a worker on another machine: a server at the other end of a stream. When the stream breaks, the worker dials again, the
 * next server in the list, after a random pause; its runs go on meanwhile, and what was not answered is told again.
 */
import { create } from '@bufbuild/protobuf';
import type { ClaimedBatch, LeaseId, RunId } from '@carillon/domain';
import { type Clock, type Log, type Random, sleep } from '@carillon/foundation';
import {
  batchOf,
  CapacitySchema,
  FRAME_BYTES_MAX,
  type Goodbye,
  HandlerOfferSchema,
  HeldRunsSchema,
  HelloSchema,
  OfferSchema,
  PROTOCOL,
  type SessionRequest,
  type SessionResponse,
  StartedSchema,
  URGENCY,
} from '../protocol/index.ts';
import type {
  Heard,
  HomeWorker,
  PassingFault,
  ReportAnswer,
  RunningReport,
  RunReport,
  WorkerHome,
} from '../runtime/worker-home.ts';
import { DialOrder } from './dial-order.ts';
import { DisownedLeases } from './disowned-leases.ts';
import { grantedBy, RemoteChannel } from './remote-channel.ts';
import { SessionStream, StreamBroken } from './session-stream.ts';
import { whyBroken } from './why-broken.ts';

/** Opens a stream to a server. */
export type Dial = (
  server: string,
  requests: AsyncIterable<SessionRequest>,
  signal: AbortSignal,
) => AsyncIterable<SessionResponse>;

/** The server will not have the worker, whatever it does. */
export class WorkerRefused extends Error {
  override readonly name = 'WorkerRefused';
}

export interface WorkerConnection {
  readonly server: string;
  /** As lists of workers show it. */
  readonly workerId: string;
}

export interface RemoteHomeOptions {
  readonly servers: readonly string[];
  readonly dial: Dial;
  readonly name: string;
  readonly language: string;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The JSON Schema of the payload, by handler. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Resolves when what was resolved before has had its effects. */
  readonly nextTurn: () => Promise<unknown>;
  /** Whether the server refuses the worker, by its key or because it knows no workers: there is no hurry to ask this address again. */
  readonly isRefused: (error: unknown) => boolean;
  /** The worker ends when every server refuses it, and none has welcomed it yet. */
  readonly endWhenKeyRefused: boolean;
  readonly onConnected: (connection: WorkerConnection) => void;
  readonly onRefused: (error: WorkerRefused) => void;
}

const ANSWER_MS_MAX = 5_000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
/** Of the trust: so many pauses fit into it. */
const PAUSES_PER_TRUST = 4;
const LEAVE_MS_MAX = 5_000;
const HANDED_OUT_MAX = 10_000;

export class RemoteHome implements WorkerHome {
  readonly channel: RemoteChannel;
  /** The server counts what it has assigned and not recorded. */
  readonly heedsUnrecordedLeft = false;
  readonly #options: RemoteHomeOptions;
  readonly #bootId: string;
  #worker!: HomeWorker;
  #stream: SessionStream | undefined;
  readonly #order: DialOrder;
  /** Streams under the id that the worker has now. */
  #sessions = { workerId: '', count: 0 };
  #times = { beatMs: 3_000, trustMs: 12_000 };
  /** The latest runs. */
  readonly #handedOut = new Set<string>();
  readonly #disowned = new DisownedLeases();
  /** Not before this instant, monotonic. */
  #dialAt = 0;
  #isDraining = false;
  #isBuried = false;
  /** Its last word is on its way: what still comes, the server gives to others (LEASE-15). */
  #hasLeft = false;
  #wasWelcome = false;
  #refused: WorkerRefused | undefined;
  #leaving!: AbortSignal;

  constructor(options: RemoteHomeOptions) {
    this.#options = options;
    this.#bootId = options.random.id();
    this.#order = new DialOrder(options);
    this.channel = new RemoteChannel(options);
  }

  open(worker: HomeWorker, leaving: AbortSignal): void {
    this.#worker = worker;
    this.#leaving = leaving;
  }

  /** The server looks it up, and says it on the stream. */
  watch(): void {}

  /** The server does, after its welcome. */
  attach(): void {}

  register(): Promise<Heard | undefined> {
    return this.#connect();
  }

  async beat(): Promise<Heard | undefined> {
    const stream = this.#stream;
    if (!stream?.isWelcome) return this.#connect();
    const sentAt = this.#options.clock.monotonic();
    const { stuckCount } = this.#worker;
    const beating = stream.beat([...this.#disowned.without(this.#worker.heldRuns()).keys()], stuckCount);
    const { buried, draining } = await this.#answered(stream, beating);
    return buried ? undefined : { sentAt, draining, ...this.#times };
  }

  ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    const stream = this.#stream;
    return this.#disowned.ended(reports, (own) => {
      if (!stream?.isWelcome) return Promise.reject(new StreamBroken('no server is connected'));
      return stream.tell(own);
    });
  }

  /** The server sends again what its storage does not take: here only the stream can fail, or a report that no message can hold. */
  faultOf(error: Error): PassingFault | undefined {
    return error instanceof StreamBroken || error instanceof WorkerRefused ? { kind: 'away' } : undefined;
  }

  /** The server does not send what it has given back. */
  wasGivenUp(): boolean {
    return false;
  }

  running(reports: readonly RunningReport[]): void {
    this.#stream?.frames.put(URGENCY.ends, 80 * reports.length, (frame) => {
      for (const { leaseId, position, epoch, startedAtMs } of reports)
        frame.started.push(
          create(StartedSchema, { leaseId, position, epoch, startedAtMs: BigInt(Math.round(startedAtMs)) }),
        );
    });
  }

  /** Counted when the frame is sent, however many slots became free until then. */
  changed(): void {
    const stream = this.#stream;
    if (!stream?.isWelcome || stream.isChangeQueued) return;
    stream.isChangeQueued = true;
    stream.frames.put(URGENCY.ends, 0, (frame) => {
      stream.isChangeQueued = false;
      frame.slotsFreed = BigInt(stream.accepted - this.#worker.runningCount);
    });
  }

  takeNoMore(): void {
    this.#isDraining = true;
    this.#stream?.frames.put(URGENCY.life, 0, (frame) => {
      frame.capacity = create(CapacitySchema, { draining: true });
    });
  }

  detach(): void {
    this.#drop(new StreamBroken('the worker starts over'));
  }

  /** Ends its side, and waits for the server to end its own. */
  async leave(): Promise<void> {
    const stream = this.#stream;
    if (!stream) return;
    this.#hasLeft = true;
    // After all the rest, and in a frame of its own: the hello may still wait to be sent.
    stream.frames.put(URGENCY.output, FRAME_BYTES_MAX, (frame) => {
      frame.leave = true;
    });
    stream.frames.end();
    const isOver = new AbortController();
    await Promise.race([stream.ended.promise, sleep(this.#options.clock, LEAVE_MS_MAX, isOver.signal)]);
    isOver.abort();
    this.#drop(new StreamBroken('the worker has left'));
  }

  async #connect(): Promise<Heard | undefined> {
    if (this.#refused) throw this.#refused;
    const { clock, log, onConnected } = this.#options;
    this.#drop(new StreamBroken('another server is dialled'));
    await sleep(clock, this.#dialAt - clock.monotonic(), this.#leaving);
    if (this.#refused) throw this.#refused;
    if (this.#leaving.aborted) throw new StreamBroken('the worker leaves');
    const server = this.#order.take();
    const stream = new SessionStream();
    this.#stream = stream;
    const sentAt = clock.monotonic();
    this.#hello(stream);
    void this.#read(server, stream);
    const welcome = await this.#answered(stream, stream.welcome.promise);
    const { unknownLeases, beatMs, trustMs, workerId, draining } = welcome;
    this.#times = { beatMs, trustMs };
    if (this.#isBuried) return undefined;
    log.info({ server, workerId }, 'connected to a server');
    onConnected({ server, workerId });
    this.#wasWelcome = true;
    this.#order.welcomed();
    stream.isWelcome = true;
    this.channel.attach(stream.frames, grantedBy(welcome));
    this.#disown(unknownLeases as LeaseId[]);
    return { sentAt, draining, ...this.#times };
  }

  /** The next address is dialled at once. Undefined: the worker goes on. */
  #refusedBy(server: string, reason: string): WorkerRefused | undefined {
    const { endWhenKeyRefused, log } = this.#options;
    const byAll = this.#order.refused(server, reason);
    if (byAll && endWhenKeyRefused && !this.#wasWelcome) return this.#refuse(byAll.reasons);
    log.error({ server, reason }, `${server} refuses this worker, and is dialled again later`);
    if (byAll) this.#dialAt = byAll.until;
    return undefined;
  }

  #hello(stream: SessionStream): void {
    const { name, language, version, labels, parameters } = this.#options;
    const { workerId, slotsMax: slots, handlers } = this.#worker;
    this.#isBuried = false;
    if (this.#sessions.workerId !== workerId) this.#sessions = { workerId, count: 0 };
    this.#sessions.count += 1;
    const session = this.#sessions.count;
    stream.frames.put(URGENCY.life, 0, (frame) => {
      const executing = this.#worker.runningCount;
      stream.accepted = executing;
      frame.hello = create(HelloSchema, {
        ...{ protocol: PROTOCOL, workerId, session, name, language, version, executing },
        bootId: this.#bootId,
        heldRuns: Array.from(this.#disowned.without(this.#worker.heldRuns()), ([leaseId, positions]) =>
          create(HeldRunsSchema, { leaseId, positions: [...positions] }),
        ),
        askedToDrain: this.#worker.isDraining,
        offer: create(OfferSchema, {
          ...{ slots, labels: { ...labels }, draining: this.#isDraining },
          handlers: handlers.map((handler) =>
            create(HandlerOfferSchema, { name: handler, parameters: parameters.get(handler) ?? '' }),
          ),
        }),
      });
    });
  }

  async #read(server: string, stream: SessionStream): Promise<void> {
    let error: Error = new StreamBroken('the server has ended the stream');
    let wasHeard = false;
    try {
      for await (const frame of this.#options.dial(server, stream.frames.frames(), stream.signal)) {
        // What an older stream still says is about runs that the next server gives to others.
        if (this.#stream !== stream) break;
        wasHeard = true;
        this.#receive(stream, frame);
        // The worker is trusted when the welcome has reached it; what comes next may be runs to start.
        if (frame.welcome) await this.#options.nextTurn();
      }
    } catch (failure) {
      // Nor does it say anything about the newer stream.
      if (this.#stream !== stream) return stream.ended.resolve();
      const reason = whyBroken(failure, { server, wasHeard });
      error = new StreamBroken(`the stream to ${server} broke: ${reason}`, { cause: failure });
      if (this.#options.isRefused(failure)) error = this.#refusedBy(server, reason) ?? error;
      else this.#order.failed(server);
    }
    stream.ended.resolve();
    if (this.#stream !== stream) return;
    this.#drop(error);
    this.#worker.beatSoon();
  }

  #receive(stream: SessionStream, frame: SessionResponse): void {
    const { welcome, beatAnswer, assigns, cancels, settled, checkpointAnswers, outputsTaken } = frame;
    if (beatAnswer) {
      this.#isBuried = beatAnswer.buried;
      this.#disown(beatAnswer.buried ? this.#worker.heldLeases() : (beatAnswer.unknownLeases as LeaseId[]));
      stream.beaten(beatAnswer);
    }
    if (welcome && welcome.protocol > PROTOCOL) this.#goodbye(unknownProtocol(welcome.protocol));
    else if (welcome) stream.welcome.resolve(welcome);
    for (const each of settled) stream.settled(each);
    // Before the runs: one that shares a frame with its cancel is not started.
    if (cancels.length > 0) this.#worker.cancel(cancels.map(({ runId }) => runId as RunId));
    for (const assign of this.#hasLeft ? [] : assigns) {
      stream.accepted += assign.runIds.length;
      this.#accept(batchOf(assign, this.#worker.workerId));
    }
    // Runs that ended at once, or were refused, freed their slots before anybody was told.
    if (assigns.length > 0) this.changed();
    for (const { sequence, error } of checkpointAnswers) this.channel.answered(sequence, error);
    for (const each of frame.resultPartAnswers) this.channel.partAnswered(each.sequence, each);
    for (const { bytes } of outputsTaken) this.channel.taken(Number(bytes));
    if (frame.goodbye) this.#goodbye(frame.goodbye);
  }

  /** Others may have been given the runs: these are stopped, and nothing is said of them any more. */
  #disown(leases: readonly LeaseId[]): void {
    if (leases.length === 0) return;
    this.#disowned.add(leases, this.#worker.heldLeases());
    this.#worker.stopUnknown(leases);
  }

  /** Rule 3 of the protocol: what was handed out before is not started again. */
  #accept(batch: ClaimedBatch): void {
    const runs = batch.runs.filter(({ leaseId, position, epoch }) => {
      const handedOut = `${leaseId} ${position} ${epoch}`;
      if (this.#handedOut.has(handedOut)) return false;
      this.#handedOut.add(handedOut);
      return true;
    });
    for (const oldest of this.#handedOut) {
      if (this.#handedOut.size <= HANDED_OUT_MAX) break;
      this.#handedOut.delete(oldest);
    }
    if (runs.length > 0) this.#worker.accept({ ...batch, runs });
  }

  #goodbye({ reason, dialAgain, afterMs }: Omit<Goodbye, '$typeName'>): void {
    const { clock, log } = this.#options;
    this.#dialAt = Math.max(this.#dialAt, clock.monotonic() + afterMs);
    if (dialAgain) log.warn({ reason }, 'the server ends the stream');
    const error = dialAgain
      ? new StreamBroken(`the server has ended the stream: ${reason}`)
      : this.#refuse(reason);
    this.#drop(error);
    this.#worker.beatSoon();
  }

  #refuse(reason: string): WorkerRefused {
    this.#refused = new WorkerRefused(reason);
    this.#options.onRefused(this.#refused);
    return this.#refused;
  }

  /** Without an answer the stream is dead, whatever the network says of it. */
  async #answered<T>(stream: SessionStream, answer: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const waitMs = Math.min(ANSWER_MS_MAX, this.#times.trustMs / 2);
    const callOff = clock.timer(waitMs, () => {
      const error = new StreamBroken(`the server has not answered for ${waitMs} ms`);
      if (this.#stream === stream) this.#drop(error);
      else stream.break(error);
    });
    try {
      return await answer;
    } finally {
      callOff();
    }
  }

  #drop(error: Error): void {
    const stream = this.#stream;
    if (!stream) return;
    this.#stream = undefined;
    this.#dialAt = Math.max(this.#dialAt, this.#options.clock.monotonic() + this.#pauseMs());
    this.channel.detach();
    stream.break(error);
  }

  /** Full jitter: many workers whose home is gone do not come to the next one at once. Where that fails, the others follow at once. */
  #pauseMs(): number {
    if (this.#order.isWithinRound) return PAUSE_MS_MIN;
    const atMost = Math.min(PAUSE_MS_MAX, this.#times.trustMs / PAUSES_PER_TRUST);
    return PAUSE_MS_MIN + this.#options.random.next() * Math.max(0, atMost - PAUSE_MS_MIN);
  }
}

function unknownProtocol(protocol: number): Omit<Goodbye, '$typeName'> {
  const reason = `the server speaks protocol ${protocol}, and this worker knows ${PROTOCOL}; use a newer version of its library`;
  return { reason, dialAgain: false, afterMs: 0 };
}
