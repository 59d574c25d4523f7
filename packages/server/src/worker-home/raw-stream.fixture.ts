/** For tests: streams of workers that are written by hand, and say whatever a test wants. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { KEY } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

/** Those of one test. */
export class RawStreams {
  address: string;
  readonly #open: RawStream[] = [];

  constructor(address: string) {
    this.address = address;
  }

  open(key = KEY): RawStream {
    const stream = new RawStream(this.address, key);
    this.#open.push(stream);
    return stream;
  }

  async connected(over: MessageInitShape<typeof P.HelloSchema> = {}): Promise<RawStream> {
    const stream = this.open();
    stream.hello(over);
    await stream.welcomed();
    return stream;
  }

  close(): void {
    for (const stream of this.#open) stream.close();
  }
}

export class RawStream {
  readonly frames = new P.FrameQueue(() => create(P.SessionRequestSchema));
  readonly heard: P.SessionResponse[] = [];
  hasEnded = false;
  readonly #gone = new AbortController();
  #reading: Promise<void> | undefined;

  constructor(address: string, key = KEY) {
    const client = createClient(P.WorkerService, createGrpcTransport({ baseUrl: address }));
    const headers = { authorization: `Bearer ${key}` };
    const answers = client.session(this.frames.frames(), { headers, signal: this.#gone.signal });
    void this.#read(answers);
  }

  async #read(answers: AsyncIterable<P.SessionResponse>): Promise<void> {
    try {
      for await (const answer of answers) {
        this.heard.push(answer);
        await this.#reading;
      }
    } catch {
      // It broke: the tests look at what was heard before.
    }
    this.hasEnded = true;
  }

  /** It reads one more message, and no other. */
  stopReading(): void {
    this.#reading = new Promise(() => {});
  }

  /** Each in a frame of its own. */
  say(message: MessageInitShape<typeof P.SessionRequestSchema>): void {
    this.frames.put(P.URGENCY.life, P.FRAME_BYTES_MAX, (frame) =>
      Object.assign(frame, create(P.SessionRequestSchema, message)),
    );
  }

  hello(over: MessageInitShape<typeof P.HelloSchema> = {}): void {
    this.say({
      hello: {
        ...{ protocol: 1, workerId: newId(), bootId: newId(), session: 1, name: 'raw' },
        offer: { slots: 4, handlers: [{ name: 'quick' }] },
        ...(over as object),
      },
    });
  }

  async welcomed(): Promise<P.Welcome> {
    return eventually(() => {
      const found = this.heard.find(({ welcome }) => welcome)?.welcome;
      if (!found) throw new Error(`not welcome: ${this.goodbye?.reason}`);
      return found;
    }, SOON);
  }

  get goodbye(): P.Goodbye | undefined {
    return this.heard.find(({ goodbye }) => goodbye)?.goodbye;
  }

  get settled(): [number, P.Verdict][] {
    return this.heard.flatMap(({ settled }) =>
      settled.flatMap(({ positions, verdicts }) =>
        positions.map((position, i): [number, P.Verdict] => [position, verdicts[i]!]),
      ),
    );
  }

  untilEnded(): Promise<void> {
    return eventually(() => expect(this.hasEnded).toBe(true), SOON);
  }

  close(): void {
    this.frames.end();
    this.#gone.abort();
  }
}
