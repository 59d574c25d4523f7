/**
 * Bounds how many requests of strangers, who have no key or session, are on their way at the same time: the memory for what is read of
 * each comes together. Counted until a request is here whole, so whoever sends at once is hardly counted.
 */
import type { EventEmitter } from 'node:events';
import { Refusal } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';
import { addressGroup } from '../accounts/address-group.ts';
import { type Claimant, SharedLimit } from '../shared-limit/shared-limit.ts';

const TOTAL_MAX = 2_000;
const ADDRESS_MAX = 100;
const RETRY_AFTER_SECONDS = 2;

export class Strangers {
  readonly #limit = new SharedLimit({
    what: 'requests without a key or a session are on their way',
    ...{ advice: 'send them whole, and fewer at the same time', eachMax: ADDRESS_MAX, totalMax: TOTAL_MAX },
  });

  /** answer: its end counts too, where nobody reads the request to its end. Throws a refusal when there is no room. */
  admit({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>, answer?: EventEmitter): void {
    const who = strangerAt(ip);
    const refusal = this.#limit.refusalOf(who);
    if (refusal) {
      const code = refusal.code === 'overloaded' ? 'overloaded' : 'rate_limited';
      throw new Refusal(code, refusal.message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    const leave = this.#limit.join(who);
    raw.once('end', leave);
    // Of HTTP/2, the request is not closed when the other side is gone before there is an answer.
    const { stream } = raw as { stream?: EventEmitter };
    (stream ?? raw).once('close', leave);
    answer?.once('finish', leave).once('close', leave);
  }
}

export function strangerAt(address: string): Claimant {
  return { of: addressGroup(address), words: 'from there', shares: [], mayUseKept: true };
}
