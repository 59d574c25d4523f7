/**
 * Streams between workers and their homes, in memory. A frame may be late, with all that follow it; a stream may be cut, and then each
 * end notices it or does not. A process that stands still finds what came meanwhile afterwards, one that died never.
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import type { SessionCall } from '../../packages/server/src/worker-home/worker-sessions.ts';
import type { Dial } from '../../packages/worker/src/remote/remote-home.ts';
import type { FaultProfile } from './fault-profile.ts';
import type { ProcessGate } from './process-gate.ts';
import type { World } from './world.ts';

interface Machine {
  readonly name: string;
  readonly gate: ProcessGate;
}

export interface StreamHome extends Machine {
  /** Undefined: nobody listens. */
  serve(
    call: Pick<SessionCall, 'requests' | 'signal' | 'letGo'>,
  ): AsyncIterable<P.SessionResponse> | undefined;
}

interface StreamNetworkOptions {
  readonly world: World;
  readonly faults: () => FaultProfile;
  /** The process behind an address. */
  readonly find: (server: string) => StreamHome | undefined;
}

const NOTICED_BY = ['both', 'both', 'the worker', 'the server', 'nobody'] as const;

/** One write of a process. */
const WRITE_MS = 0.1;

export class StreamNetwork {
  readonly #options: StreamNetworkOptions;
  readonly #streams = new Set<Stream>();
  readonly #apartUntilMs = new Map<string, number>();

  constructor(options: StreamNetworkOptions) {
    this.#options = options;
  }

  dialFrom(worker: Machine): Dial {
    return (server, requests, signal) => {
      const home = this.#options.find(server);
      const stream = new Stream(this.#options, { worker, home });
      this.#streams.add(stream);
      stream.onClosed = () => this.#streams.delete(stream);
      const isApart = (this.#apartUntilMs.get(worker.name) ?? 0) > this.#options.world.nowMs;
      if (isApart) stream.cut('nobody');
      return stream.open(requests, signal);
    };
  }

  /** One of those that are open. */
  cutSome(): void {
    if (this.#streams.size > 0) this.#options.world.chance.pick([...this.#streams]).cut();
  }

  /** Nothing comes from this worker or to it, and nobody is told. */
  partOff(worker: string, forMs: number): void {
    const { world } = this.#options;
    world.trace.add(worker, `is cut off from everybody for ${Math.round(forMs)} ms`);
    this.#apartUntilMs.set(worker, world.nowMs + forMs);
    for (const stream of this.#streams) if (stream.worker.name === worker) stream.cut('nobody');
  }
}

class Stream {
  onClosed: () => void = () => undefined;
  readonly #options: StreamNetworkOptions;
  readonly worker: Machine;
  readonly #home: StreamHome | undefined;
  readonly #there: Pipe<P.SessionRequest>;
  readonly #back: Pipe<P.SessionResponse>;
  readonly #homeSignal = new AbortController();
  #isCut = false;

  constructor(options: StreamNetworkOptions, ends: { worker: Machine; home: StreamHome | undefined }) {
    this.#options = options;
    const { worker, home } = ends;
    this.worker = worker;
    this.#home = home;
    const shared = { ...options, isCut: () => this.#isCut, cut: () => this.cut() };
    const nobody = worker.gate;
    this.#there = new Pipe(P.SessionRequestSchema, {
      ...shared,
      from: worker.gate,
      to: home?.gate ?? nobody,
    });
    this.#back = new Pipe(P.SessionResponseSchema, {
      ...shared,
      from: home?.gate ?? nobody,
      to: worker.gate,
    });
  }

  async *open(requests: AsyncIterable<P.SessionRequest>, signal: AbortSignal) {
    const { world } = this.#options;
    const home = this.#home;
    world.trace.add(this.worker.name, `dials ${home?.name ?? 'a server that is not there'}`);
    signal.addEventListener('abort', () => this.#abort(), { once: true });
    this.worker.gate.onDeath(() => this.#endOf(home?.gate, () => this.#breakHome('the worker is gone')));
    home?.gate.onDeath(() => this.#endOf(this.worker.gate, () => this.#breakWorker('the server is gone')));
    this.#travel(home?.gate ?? this.worker.gate, () => this.#connect());
    void this.#there.carry(requests);
    try {
      yield* this.#back;
    } finally {
      this.#abort();
    }
  }

  /** What is on its way is lost. Each end notices it, or finds out by itself. */
  cut(noticedBy = this.#options.world.chance.pick(NOTICED_BY)): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#options.world.trace.add(
      this.worker.name,
      `its stream to ${this.#home?.name} is cut, noticed by ${noticedBy}`,
    );
    if (noticedBy === 'both' || noticedBy === 'the worker')
      this.#travel(this.worker.gate, () => this.#breakWorker('the connection was reset'));
    if (this.#home && (noticedBy === 'both' || noticedBy === 'the server'))
      this.#travel(this.#home.gate, () => this.#breakHome('the connection was reset'));
    this.onClosed();
  }

  #connect(): void {
    const { signal } = this.#homeSignal;
    const letGo = () => this.cut('both');
    const answers = this.#isCut ? undefined : this.#home?.serve({ requests: this.#there, signal, letGo });
    if (this.#isCut) return;
    if (!answers) {
      this.#travel(this.worker.gate, () => this.#breakWorker('the connection was refused'));
      return;
    }
    void this.#back.carry(answers).then(() => {
      this.#breakHome('the stream is closed');
      this.onClosed();
    });
  }

  /** The worker gives it up. */
  #abort(): void {
    this.#breakWorker('the stream was given up');
    this.#there.close();
    if (!this.#isCut && this.#home)
      this.#travel(this.#home.gate, () => this.#breakHome('the worker gave up'));
    this.onClosed();
  }

  /** The kernel of a dead process tells the other end; that of a dead machine does not. */
  #endOf(other: ProcessGate | undefined, breaks: () => void): void {
    if (this.#isCut) return;
    this.#isCut = true;
    if (other && this.#options.world.chance.happens(0.7)) this.#travel(other, breaks);
    this.onClosed();
  }

  #breakWorker(why: string): void {
    this.#back.break(new Error(why));
  }

  #breakHome(why: string): void {
    this.#there.break(new Error(why));
    this.#homeSignal.abort();
  }

  #travel(to: ProcessGate, arrive: () => void): void {
    const { world } = this.#options;
    world.clock.timer(world.chance.between(0.2, 2), () => to.enter(arrive));
  }
}

interface PipeOptions {
  readonly world: World;
  readonly faults: () => FaultProfile;
  readonly from: ProcessGate;
  readonly to: ProcessGate;
  readonly isCut: () => boolean;
  readonly cut: () => void;
}

type Schema<Frame> = Parameters<typeof toBinary>[0] & { readonly Frame?: Frame };
type Arrival<Frame> = { readonly frame: Frame } | 'end';

/** One direction: in order, whatever is late. */
class Pipe<Frame> implements AsyncIterable<Frame> {
  readonly #schema: Schema<Frame>;
  readonly #options: PipeOptions;
  /** On the machine, and not noticed by the process yet. */
  readonly #inbox: Arrival<Frame>[] = [];
  readonly #noticed: Arrival<Frame>[] = [];
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  #arrivedMs = 0;
  #isClosed = false;

  constructor(schema: Schema<Frame>, options: PipeOptions) {
    this.#schema = schema;
    this.#options = options;
  }

  /** Takes frames from the process at its end until there are no more. */
  async carry(source: AsyncIterable<Frame>): Promise<void> {
    const { world, from } = this.#options;
    try {
      for await (const frame of source) {
        this.#send({ frame: this.#copy(frame) });
        await new Promise<void>((resolve) => world.clock.timer(WRITE_MS, () => from.enter(resolve)));
      }
      this.#send('end');
    } catch {
      this.#send('end');
    }
  }

  /** Nothing more is sent. */
  close(): void {
    this.#isClosed = true;
  }

  break(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame> {
    for (;;) {
      if (this.#error) throw this.#error;
      const next = this.#noticed.shift();
      if (next === 'end') return;
      if (next) yield next.frame;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #send(arrival: Arrival<Frame>): void {
    const { world, faults, from, to, isCut, cut } = this.#options;
    const { chance, clock, nowMs } = world;
    const { slowFrame, slowFrameMsMax, cutStream } = faults();
    if (from.dead) return;
    if (this.#isClosed) return;
    if (chance.happens(cutStream)) cut();
    const slowMs = chance.happens(slowFrame) ? chance.between(100, slowFrameMsMax) : 0;
    this.#arrivedMs = Math.max(this.#arrivedMs, nowMs + chance.between(0.2, 2) + slowMs);
    clock.timer(this.#arrivedMs - nowMs, () => {
      if (isCut()) return;
      this.#inbox.push(arrival);
      to.enter(() => {
        this.#noticed.push(this.#inbox.shift()!);
        this.#wake?.();
      });
    });
  }

  #copy(frame: Frame): Frame {
    const schema = this.#schema as typeof P.SessionRequestSchema;
    return fromBinary(schema, toBinary(schema, frame as P.SessionRequest)) as Frame;
  }
}
