/** The request headers that carry meaning, read strictly. */
import { Refusal } from '@carillon/domain';

/** Stored with the job, so it is bounded; visible ASCII only, so that two spellings never look alike. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

export function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  const message = 'Idempotency-Key must be 1 to 200 visible ASCII characters, given once.';
  throw new Refusal('field_invalid', message, { field: 'Idempotency-Key' });
}

/** The versions that the caller accepts; undefined when any will do. */
export function parseIfMatch(header: string | undefined): number[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return header.split(',').map((tag) => {
    const version = /^\s*"(\d{1,15})"\s*$/.exec(tag)?.[1];
    if (version !== undefined) return Number(version);
    const message = 'If-Match must be the ETag of a job, such as "3", or *.';
    throw new Refusal('field_invalid', message, { field: 'If-Match' });
  });
}

export function etagOf(version: number): string {
  return `"${version}"`;
}

/** What a caller may name its request: short and harmless in logs and headers. */
export function isRequestId(header: unknown): header is string {
  return typeof header === 'string' && /^[\w.:/+=-]{1,100}$/.test(header);
}
