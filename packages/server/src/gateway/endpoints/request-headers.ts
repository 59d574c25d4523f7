/** The headers that several endpoints read, described once. */
import type { HeaderSpec } from '../endpoint.ts';

export const IF_MATCH: Readonly<Record<string, HeaderSpec>> = {
  'If-Match': {
    description: 'The ETag of the version that is meant; a job that was changed meanwhile is left alone.',
    example: '"3"',
  },
};

export const IDEMPOTENCY_KEY: Readonly<Record<string, HeaderSpec>> = {
  'Idempotency-Key': {
    description: 'The same request sent again with the same key does nothing new and answers as before.',
    example: 'order-17',
  },
};
