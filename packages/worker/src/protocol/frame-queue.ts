/**
 * What waits to be sent on a stream. Whatever was put in while a frame was on its way shares the next one, the most urgent first; a
 * frame that is full leaves the rest for the one after it. So a busy stream sends few large frames, and an idle one sends at once.
 */

interface Part<Frame> {
  readonly bytes: number;
  readonly fill: (frame: Frame) => void;
}

/** From the most urgent on: signs of life and what they answer, ends of runs, runs to start and checkpoints, output. */
export const URGENCY = { life: 0, ends: 1, work: 2, output: 3 } as const;
export type Urgency = (typeof URGENCY)[keyof typeof URGENCY];

/** A quarter of what a frame may hold. A part that is larger goes alone. */
const FRAME_BYTES = 1_024 * 1_024;

export class FrameQueue<Frame> {
  readonly #create: () => Frame;
  readonly #parts: Part<Frame>[][] = Object.values(URGENCY).map(() => []);
  #wake: (() => void) | undefined;
  #hasEnded = false;

  constructor(create: () => Frame) {
    this.#create = create;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Parts that nobody has taken yet. */
  get waiting(): number {
    return this.#parts.reduce((sum, parts) => sum + parts.length, 0);
  }

  /** Forgets what waits. */
  clear(): void {
    for (const parts of this.#parts) parts.length = 0;
  }

  /** After the end it is dropped. */
  put(urgency: Urgency, bytes: number, fill: (frame: Frame) => void): void {
    if (this.#hasEnded) return;
    this.#parts[urgency]!.push({ bytes, fill });
    this.#wake?.();
  }

  /** What was put in before is still sent. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  async *frames(): AsyncGenerator<Frame> {
    for (;;) {
      const frame = this.#take();
      if (frame !== undefined) yield frame;
      else if (this.#hasEnded) return;
      else await this.#filled();
    }
  }

  #filled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #take(): Frame | undefined {
    let frame: Frame | undefined;
    let bytes = 0;
    let isFull = false;
    for (const parts of this.#parts) {
      let taken = 0;
      while (taken < parts.length && !isFull) {
        const part = parts[taken]!;
        // What is less urgent does not pass a part that waits for the next frame.
        isFull = frame !== undefined && bytes + part.bytes > FRAME_BYTES;
        if (isFull) break;
        frame ??= this.#create();
        part.fill(frame);
        bytes += part.bytes;
        taken += 1;
      }
      parts.splice(0, taken);
    }
    return frame;
  }
}
