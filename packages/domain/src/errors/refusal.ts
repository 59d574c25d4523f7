/** The one error class for what a caller did wrong or must wait for: a catalogue code, a sentence, and the field it is about. */
import { CATALOGUE, type ErrorCode } from './catalogue.ts';

/** What is wrong with one entry of a request that holds many. */
export interface RefusedEntry {
  /** Counted from 0, in the order of the request. */
  readonly index: number;
  readonly refusal: Refusal;
}

export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** What to do about it. */
  readonly fix: string;
  /** When it is worth another try, if that is known. */
  readonly retryAfterSeconds: number | undefined;
  /** Where the request is refused because of some of its entries: those. */
  readonly entries: readonly RefusedEntry[];

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      field?: string;
      /** Where that of the code does not fit. */
      fix?: string;
      cause?: unknown;
      retryAfterSeconds?: number;
      entries?: readonly RefusedEntry[];
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Refusal';
    this.code = code;
    this.field = options.field;
    this.fix = options.fix ?? CATALOGUE[code].fix;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.entries = options.entries ?? [];
  }

  get status(): number {
    return CATALOGUE[this.code].status;
  }
}

/** Refuses a request because of the value of one field. */
export function refuseValue(field: string, message: string, code: ErrorCode = 'field_invalid'): never {
  throw new Refusal(code, message, { field });
}
