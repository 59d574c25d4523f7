/** A worker that says by hand whatever a test wants, to a server as people start it. It beats by itself. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  FrameQueue,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  URGENCY,
} from '../../../packages/worker/src/protocol/index.ts';
import { dialGrpc } from '../../../packages/worker/src/remote/dial-grpc.ts';
import { eventually } from '../../support/eventually.ts';

const LIMIT = { withinMs: 60_000 };
const BEAT_MS = 500;

export class RawWorker {
  readonly heard: SessionResponse[] = [];
  readonly #frames = new FrameQueue(() => create(SessionRequestSchema));
  readonly #gone = new AbortController();
  readonly #beats: NodeJS.Timeout;
  #sequence = 0;

  constructor({ server, key, handler }: { server: string; key: string; handler: string }) {
    void this.#read(dialGrpc({ key })(server, this.#frames.frames(), this.#gone.signal));
    const ids = { workerId: crypto.randomUUID(), bootId: crypto.randomUUID() };
    const offer = { slots: 4, handlers: [{ name: handler }] };
    this.say({ hello: { protocol: 1, session: 1, name: 'raw', language: 'test', ...ids, offer } });
    this.#beats = setInterval(() => {
      this.#sequence += 1;
      this.say({ beat: { sequence: this.#sequence, heldLeases: [] } });
    }, BEAT_MS);
  }

  /** In a frame of its own; with a field that no protocol knows yet. */
  say(message: MessageInitShape<typeof SessionRequestSchema>): void {
    const said = create(SessionRequestSchema, message);
    const later = [{ no: 536_870_911, wireType: 2, data: Uint8Array.of(3, 1, 2, 3) }];
    for (const part of [said, said.hello, said.hello?.offer, said.beat, ...said.ended, ...said.checkpoints])
      if (part) part.$unknown = later;
    this.#frames.put(URGENCY.life, 2 ** 21, (frame: SessionRequest) => void Object.assign(frame, said));
  }

  /** What the server says in such a field, once there are so many. */
  all<Field extends 'assigns' | 'settled' | 'checkpointAnswers'>(
    field: Field,
    count: number,
  ): Promise<SessionResponse[Field][number][]> {
    return eventually(() => {
      const said = this.heard.flatMap((message) => message[field] as SessionResponse[Field][number][]);
      if (said.length < count) throw new Error(`${said.length} ${field}, not ${count}`);
      return said;
    }, LIMIT);
  }

  close(): void {
    clearInterval(this.#beats);
    this.#frames.end();
    this.#gone.abort();
  }

  async #read(messages: AsyncIterable<SessionResponse>): Promise<void> {
    try {
      for await (const message of messages) this.heard.push(message);
    } catch {
      // The test has closed it, or looks at what it heard.
    }
  }
}
