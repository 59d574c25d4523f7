/**
 * The status each refusal has over gRPC, from the same catalogue as its HTTP status. The numbers are those of gRPC; the
 * particulars travel in an ErrorDetail.
 */
import { CATALOGUE, type ErrorCode } from '@carillon/domain';

/** The status codes of gRPC that Carillon answers. */
export const RPC_STATUS = {
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  already_exists: 6,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type RpcStatus = keyof typeof RPC_STATUS;

const OF_HTTP: Readonly<Record<number, RpcStatus>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  405: 'unimplemented',
  408: 'deadline_exceeded',
  409: 'failed_precondition',
  410: 'not_found',
  412: 'failed_precondition',
  416: 'invalid_argument',
  413: 'invalid_argument',
  415: 'invalid_argument',
  421: 'invalid_argument',
  422: 'invalid_argument',
  429: 'resource_exhausted',
  431: 'invalid_argument',
  500: 'internal',
  503: 'unavailable',
};

/** Where gRPC tells apart what HTTP does not. */
const OF_CODE: Partial<Record<ErrorCode, RpcStatus>> = {
  // Worth repeating from the start of the read-change-write, and only that.
  job_changed: 'aborted',
  idempotency_key_reused: 'already_exists',
  job_key_taken: 'already_exists',
  namespace_exists: 'already_exists',
  user_exists: 'already_exists',
  body_too_large: 'resource_exhausted',
};

/** Undefined for a status nobody has mapped yet, which a test forbids. */
export function rpcStatusOf(code: ErrorCode): RpcStatus | undefined {
  return OF_CODE[code] ?? OF_HTTP[CATALOGUE[code].status];
}
