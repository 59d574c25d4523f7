/**
 * What a script says on descriptor 3: one JSON object per line. A line that is not understood is told in the log and harms nothing. The
 * memory that a script can take here is bounded by one line.
 */
import type { JsonValue } from '@carillon/domain';
import { GrowingBytes } from '@carillon/foundation';

export interface ControlListener {
  progress(percent: number, message: string | undefined): void;
  checkpoint(value: JsonValue): void;
  result(value: JsonValue): void;
  fail(error: string, retryable: boolean): void;
  /** For the log. */
  note(text: string): void;
  /** Without secrets. */
  masked(text: string): string;
}

/** A checkpoint or a result of the largest size fits, with its name. */
const LINE_BYTES_MAX = 1024 * 1024;
const NOTES_MAX = 20;
const QUOTED_MAX = 120;

export class ControlLines {
  readonly #listener: ControlListener;
  #bytes = new GrowingBytes();
  #size = 0;
  #line = 1;
  #notes = 0;

  constructor(listener: ControlListener) {
    this.#listener = listener;
  }

  push(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
      this.#keep(bytes.subarray(from, end));
      this.#finishLine();
      from = end + 1;
    }
    this.#keep(bytes.subarray(from));
  }

  /** The last line needs no line end. */
  end(): void {
    if (this.#size > 0) this.#finishLine();
  }

  #keep(part: Buffer): void {
    this.#size += part.byteLength;
    if (this.#size <= LINE_BYTES_MAX) this.#bytes.add(part);
    else this.#bytes = new GrowingBytes();
  }

  #finishLine(): void {
    const text = this.#size <= LINE_BYTES_MAX ? this.#bytes.view().toString('utf8').trim() : undefined;
    if (text === undefined) this.#complain(`is longer than ${LINE_BYTES_MAX} bytes`);
    else if (text !== '') this.#read(text);
    this.#bytes = new GrowingBytes();
    this.#size = 0;
    this.#line += 1;
  }

  #read(text: string): void {
    const value = parsed(text);
    if (value === TOO_LARGE) {
      this.#complain(`holds a number that is too large: ${this.#quote(text)}`);
      return;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#complain(`is not a JSON object: ${this.#quote(text)}`);
      return;
    }
    const { progress, message, checkpoint, result, fail, ...others } = value as Record<string, JsonValue>;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) this.#complain(`has a member "${this.#quote(unknown)}", which is not known`);
    if (typeof progress === 'number')
      this.#listener.progress(progress, typeof message === 'string' ? message : undefined);
    else if (progress !== undefined || message !== undefined)
      this.#complain('has no progress that is a number from 0 to 100');
    if (checkpoint !== undefined) this.#listener.checkpoint(checkpoint);
    if (result !== undefined) this.#listener.result(result);
    if (fail !== undefined) this.#fail(fail);
  }

  #fail(value: JsonValue): void {
    const { error, retryable = true } = (typeof value === 'object' && value !== null ? value : {}) as {
      error?: unknown;
      retryable?: unknown;
    };
    if (typeof error !== 'string' || typeof retryable !== 'boolean')
      this.#complain('has a fail without {"error": "text", "retryable": true or false}');
    this.#listener.fail(typeof error === 'string' ? error : '', retryable !== false);
  }

  /** Masked before it is cut; not at all when nobody is told. */
  #quote(text: string): string {
    return this.#notes < NOTES_MAX ? this.#listener.masked(text).slice(0, QUOTED_MAX) : '';
  }

  /** A script that writes something else there altogether must not fill the log with complaints. */
  #complain(why: string): void {
    this.#notes += 1;
    if (this.#notes <= NOTES_MAX) this.#listener.note(`line ${this.#line} on descriptor 3 ${why}`);
    if (this.#notes === NOTES_MAX)
      this.#listener.note('further invalid lines on descriptor 3 are not reported');
  }
}

/** Such as 1e999: read as infinite, it would be kept as null. */
const TOO_LARGE = Symbol('a number that is too large');

/** Undefined when it is not JSON. */
function parsed(text: string): unknown {
  let isTooLarge = false;
  try {
    const value: unknown = JSON.parse(text, (_, part: unknown) => {
      isTooLarge ||= typeof part === 'number' && !Number.isFinite(part);
      return part;
    });
    return isTooLarge ? TOO_LARGE : value;
  } catch {
    return undefined;
  }
}
