/**
 * The streams of workers that have this server as their home. A worker says hello, is registered, and from then on is handed runs like
 * the worker in this process. A lease is the worker's and not the stream's: a stream that breaks takes nothing away.
 */
import { create } from '@bufbuild/protobuf';
import { type NodeId, Refusal, type WorkerId } from '@carillon/domain';
import { type Clock, type Log, type Random, type Service, sleep } from '@carillon/foundation';
import { protocol as P } from '@carillon/worker';
import type { HomeChannel } from '../run-results/stored-results.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import type { LocalWorkers } from '../worker-link/worker-link.ts';
import { awaitHello } from './await-hello.ts';
import { forgetLeft } from './forget-left.ts';
import { ProtocolBroken, requireBeat, requireFrame } from './frame-bounds.ts';
import { fillGoodbye, type Goodbye, goodbyeFrame } from './goodbye.ts';
import { GroupedBeats } from './grouped-beats.ts';
import type { LeaseChecks } from './lease-checks.ts';
import { loggedOf, type ReadHello } from './read-hello.ts';
import { RefusedStreams } from './refused-streams.ts';
import { OUTPUT_WINDOW } from './remote-voice.ts';
import { RemoteWorker } from './remote-worker.ts';
import { SessionBeats } from './session-beats.ts';
import { beatTimes } from './storage-home.ts';
import { boundTo, covers, withoutScriptLabels } from './worker-namespaces.ts';

export interface WorkerSessionsOptions {
  readonly nodeId: NodeId;
  readonly members: MemberStore;
  readonly leases: LeaseStore;
  readonly reports: RunReports;
  readonly link: LocalWorkers;
  readonly signals: SignalBus;
  /** Of all workers of this server. */
  readonly leaseChecks: LeaseChecks;
  readonly channel: HomeChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
  /** How often the key of a stream is judged anew. */
  readonly recogniseMs?: number;
  /** Keeps what workers say of their handlers: it decides about the jobs that they may be given. */
  readonly describe: (
    offered: readonly OfferedParameters[],
    by: Pick<RemoteWorker, 'workerId' | 'namespaces'>,
  ) => Promise<void>;
}

export interface OfferedParameters {
  readonly name: string;
  /** A JSON Schema. */
  readonly parameters: string;
}

/** What a key may that a worker came with. */
export interface WorkerRights {
  mayOffer(handler: string): boolean;
  /** Whose jobs the worker may be given. */
  readonly namespaces: 'all' | readonly string[];
}

/** One stream, as the gateway opens it. */
export interface SessionCall {
  /** The key that the worker came with. */
  readonly keyId: string;
  readonly requests: AsyncIterable<P.SessionRequest>;
  /** The other side is gone. */
  readonly signal: AbortSignal;
  /** When the stream was opened. */
  readonly rights: WorkerRights;
  /** What the key may now. Rejects when it may not come in any more. */
  recognise(): Promise<WorkerRights>;
  /** The stream has said who it is, and may last. */
  keepOpen(): void;
  /** Breaks the stream off: the worker reads nothing. */
  letGo(): void;
  /** In words: the worker sent what is no message. Undefined: the error is another one. */
  unreadable(error: unknown): string | undefined;
}

interface Session {
  readonly worker: RemoteWorker;
  readonly hello: ReadHello;
  /** Ends the stream with these words, and hands nothing more to it. */
  end(goodbye: Goodbye): void;
  /** The stream is closed. */
  closed(): void;
}

const RECOGNISE_MS = 30_000;
/** Of the time between two beats: a worker may beat early once, to tell something, and has no reason to do so again and again. */
const BEAT_GAP_SHARE = 0.25;
/** A claim takes milliseconds; a database that does not answer must not hold up the stop. */
const LAST_CLAIM_MS_MAX = 2_000;
/** Whoever does not read the last words of a stream by then is let go. */
const GOODBYE_MS_MAX = 5_000;
const STOPS: Goodbye = { reason: 'the server stops', dialAgain: true };

export class WorkerSessions implements Service {
  readonly #options: WorkerSessionsOptions;
  readonly #sessions = new Map<WorkerId, Session>();
  readonly #unsubscribe: () => void;
  readonly #beats: GroupedBeats;
  readonly #refused: RefusedStreams;
  #isStopping = false;

  constructor(options: WorkerSessionsOptions) {
    this.#options = options;
    const { signals, log } = options;
    this.#beats = new GroupedBeats(options);
    this.#refused = new RefusedStreams(options);
    this.#unsubscribe = signals.on('workers-asked', () => {
      // The next beats tell the same.
      const failed = 'what is asked of workers could not be read';
      void this.#findAsked().catch((error: unknown) => log.warn({ err: error }, failed));
    });
  }

  get count(): number {
    return this.#sessions.size;
  }

  has(workerId: WorkerId): boolean {
    return this.#sessions.has(workerId);
  }

  /** For tests: what the streams remember of runs. */
  counts(): { readonly leases: number; readonly runs: number; readonly unsettled: number } {
    const all = [...this.#sessions.values()].map(({ worker }) => worker.counts());
    const sum = (name: keyof (typeof all)[number]) => all.reduce((total, counts) => total + counts[name], 0);
    return { leases: sum('leases'), runs: sum('runs'), unsettled: sum('unsettled') };
  }

  start(): void {}

  /** Claims for the workers end, what was claimed is handed over, and they are sent to another server. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe();
    await Promise.all([...this.#sessions.values()].map((session) => this.#sendAway(session, STOPS.reason)));
  }

  /** What was claimed for the worker is still handed over. */
  async #sendAway({ worker, end }: Session, reason: string): Promise<void> {
    const { link, clock } = this.#options;
    worker.takeNoMore();
    const isOver = new AbortController();
    const late = sleep(clock, LAST_CLAIM_MS_MAX, isOver.signal);
    await Promise.race([link.whenUnreserved(worker.workerId), late]);
    isOver.abort();
    end({ reason, dialAgain: true });
  }

  async *serve(call: SessionCall): AsyncGenerator<P.SessionResponse> {
    const messages = call.requests[Symbol.asyncIterator]();
    const { keyId, signal } = call;
    let session: Session | undefined;
    let workerId: string | undefined;
    try {
      const heldOff = this.#refused.heldOff(keyId);
      if (heldOff) return yield goodbyeFrame(heldOff);
      const hello = await awaitHello(messages, {
        ...{ keyId, clock: this.#options.clock },
        said: (id) => {
          workerId = id;
        },
      });
      // The worker is gone: after a server stood still it finds such streams.
      if (hello === undefined) return;
      if (this.#isStopping) return yield goodbyeFrame(STOPS);
      const refused = refusalOf(hello, call);
      if (!refused) session = await this.#open(hello, call);
      if (!session)
        return yield goodbyeFrame(this.#refused.refused({ keyId, workerId }, refused ?? this.#taken));
    } catch (error) {
      const { log } = this.#options;
      if (signal.aborted) return log.debug({ err: error }, 'a stream broke before its worker was welcome');
      return yield goodbyeFrame(this.#refused.failed({ keyId, workerId }, error, call.unreadable(error)));
    }
    call.keepOpen();
    const { worker } = session;
    signal.addEventListener('abort', () => worker.frames.end(), { once: true });
    if (signal.aborted) worker.frames.end();
    const reading = this.#read(messages, session, call);
    try {
      yield* worker.frames.frames();
    } finally {
      session.closed();
      // LEASE-15: it stays with the link until what was claimed for it has gone back.
      if (worker.isLeaving) await reading;
      this.#leave(session);
      await worker.close();
    }
  }

  /** Undefined: the id is another's, or a later stream of the worker is open. */
  async #open(hello: ReadHello, call: SessionCall): Promise<Session | undefined> {
    const { members, clock, nodeId } = this.#options;
    const { workerId, bootId, session: number, slots, handlers, shown, askedToDrain: draining } = hello;
    const namespaces = boundTo(call);
    const labels = namespaces === undefined ? shown.labels : withoutScriptLabels(shown.labels);
    const identity = { workerId, nodeId, incarnation: 0, bootId, session: number };
    const verdict = await members.registerWorker(
      { ...shown, labels, ...identity, slots, handlers, namespaces, draining },
      clock.now(),
    );
    // Nothing is awaited from here until the stream has its place: a worker that dials again may have said hello meanwhile, and the
    // answers of the storage may come in another order than the hellos.
    const former = this.#sessions.get(workerId);
    const isLate = former?.hello.bootId === bootId && former.hello.session > number;
    if (verdict === 'taken' || isLate) return undefined;
    former?.end({ reason: 'a later stream of this worker came', dialAgain: false });
    const session = this.#take(hello, call);
    try {
      await this.#welcome(session, verdict === 'dead');
    } catch (error) {
      this.#leave(session);
      await session.worker.close();
      throw error;
    }
    this.#describe(session);
    hello.parameters.clear();
    return session;
  }

  #take(hello: ReadHello, call: SessionCall): Session {
    const { clock } = this.#options;
    const worker = new RemoteWorker({ ...this.#options, ...hello, namespaces: boundTo(call) });
    let callOff: (() => void) | undefined;
    const session: Session = {
      ...{ worker, hello },
      end: (goodbye) => {
        this.#leave(session);
        worker.takeNoMore();
        worker.frames.put(P.URGENCY.output, 0, (frame) => fillGoodbye(frame, goodbye));
        worker.frames.end();
        callOff ??= clock.timer(GOODBYE_MS_MAX, () => call.letGo());
      },
      closed: () => callOff?.(),
    };
    this.#sessions.set(hello.workerId, session);
    return session;
  }

  async #welcome(session: Session, isBuried: boolean): Promise<void> {
    const { members, clock, silentMs, link, log } = this.#options;
    const { worker, hello } = session;
    const { workerId, slots, handlers } = hello;
    // It may have been asked to drain at another server.
    const { draining } = isBuried
      ? { draining: hello.askedToDrain }
      : await members.beatWorker(workerId, clock.now());
    worker.drain(draining);
    const unknownLeases = isBuried ? [...hello.heldRuns.keys()] : await worker.open();
    const { beatMs, trustMs } = beatTimes(silentMs);
    worker.frames.put(P.URGENCY.life, 0, (frame) => {
      frame.welcome = create(P.WelcomeSchema, {
        ...{ protocol: P.PROTOCOL, workerId, beatMs, trustMs, unknownLeases, draining },
        outputWindow: OUTPUT_WINDOW,
        resultBytesMax: BigInt(this.#options.channel.results?.bytesMax ?? 0),
        artifactBytesMax: BigInt(this.#options.channel.artifacts?.bytesMax ?? 0),
      });
      if (isBuried) frame.beatAnswer = create(P.BeatAnswerSchema, { buried: true, draining });
      // Runs follow the welcome, and never share its message.
      else queueMicrotask(() => this.#isReplaced(session) || link.attach(worker));
    });
    if (hello.draining) worker.leaves();
    if (isBuried) worker.takeNoMore();
    log.info({ workerId, slots, ...loggedOf(handlers), session: hello.session }, 'a worker has connected');
  }

  #describe({ worker, hello: { workerId, parameters } }: Session): void {
    const { describe, log } = this.#options;
    if (parameters.size === 0) return;
    const offered = Array.from(parameters, ([name, schema]) => ({ name, parameters: schema }));
    const failed = 'could not record which payloads the handlers of a worker take';
    void describe(offered, worker).catch((error: unknown) => log.warn({ err: error, workerId }, failed));
  }

  /** Until the stream ends, breaks, or holds what it must not. */
  async #read(messages: AsyncIterator<P.SessionRequest>, session: Session, call: SessionCall): Promise<void> {
    const { worker, end } = session;
    const { clock, log, silentMs, recogniseMs = RECOGNISE_MS } = this.#options;
    const { beatMs, trustMs } = beatTimes(silentMs);
    const isOver = new AbortController();
    const gapMs = beatMs * BEAT_GAP_SHARE;
    const beats = new SessionBeats({
      ...{ worker, clock, log, gapMs },
      beats: this.#beats,
      signal: isOver.signal,
    });
    let recogniseAt = clock.monotonic() + recogniseMs;
    let [isReading, hasLeft] = [false, false];
    let heard: () => void = () => undefined;
    const listen = () => {
      heard();
      // A beat may have come that waits to be read.
      heard = clock.timer(trustMs, () =>
        isReading ? end({ reason: 'no beat came', dialAgain: true }) : listen(),
      );
    };
    listen();
    try {
      for (;;) {
        isReading = true;
        const next = await messages.next();
        isReading = false;
        if (next.done) break;
        const { beat } = next.value;
        if (next.value.hello) throw new ProtocolBroken('a hello comes first, and once');
        requireFrame(next.value);
        if (beat) {
          requireBeat(beat, worker);
          listen();
          await beats.hear(beat);
          if (clock.monotonic() >= recogniseAt) {
            recogniseAt = clock.monotonic() + recogniseMs;
            this.#recognise(session, call).catch(() => {
              recogniseAt = clock.monotonic();
            });
          }
        }
        await worker.receive(next.value);
        hasLeft = next.value.leave;
        if (hasLeft) break;
      }
      heard();
      if (hasLeft) worker.leaves();
      // LEASE-14. A stream that broke looks like one that was ended: only who said that it leaves has left.
      if (worker.isLeaving) await forgetLeft({ ...this.#options, ...session, hasLeft });
    } catch (error) {
      const { workerId } = worker;
      if (!call.signal.aborted)
        end(this.#refused.failed({ keyId: call.keyId, workerId }, error, call.unreadable(error)));
      else log.debug({ err: error, workerId }, 'the stream of a worker broke');
    } finally {
      isOver.abort();
      heard();
      worker.frames.end();
    }
  }

  /** Rejects when it could not be told: the database does not answer, and is asked again. */
  async #recognise(session: Session, { rights, recognise }: SessionCall): Promise<void> {
    try {
      const now = await recognise();
      const isLess =
        !session.hello.handlers.every(now.mayOffer) || !covers(now.namespaces, rights.namespaces);
      // On its next stream it is given what the key still may.
      if (isLess)
        await this.#sendAway(session, 'the key has fewer permissions than when the stream was opened');
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      session.end({ reason: `the key is refused: ${error.message}`, dialAgain: true });
    }
  }

  async #findAsked(): Promise<void> {
    if (this.#sessions.size === 0) return;
    for (const { workerId, draining } of await this.#options.members.workers())
      this.#sessions.get(workerId)?.worker.drain(draining);
  }

  #isReplaced({ worker }: Session): boolean {
    return this.#sessions.get(worker.workerId)?.worker !== worker;
  }

  /** A later stream of the worker may have taken its place. */
  #leave(session: Session): void {
    const { workerId } = session.worker;
    if (this.#isReplaced(session)) return;
    this.#sessions.delete(workerId);
    this.#options.link.detach(session.worker);
    this.#options.log.info({ workerId }, 'the stream of a worker has ended');
  }

  get #taken(): Goodbye {
    const reason =
      'another process works under this worker id, or a later stream of this one; give every process an id of its own';
    return { reason, dialAgain: true, afterMs: this.#options.silentMs };
  }
}

function refusalOf({ handlers }: ReadHello, { rights }: SessionCall): Goodbye | undefined {
  const refused = handlers.find((handler) => !rights.mayOffer(handler));
  if (refused === undefined) return undefined;
  return { reason: `the key may not offer the handler ${refused}`, dialAgain: false };
}
