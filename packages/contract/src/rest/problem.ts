/** Every refusal as one shape (RFC 9457): a code for programs, a sentence and a way out for people, an id for the log. */
import { CATALOGUE, type ErrorCode, type Refusal } from '@carillon/domain';
import { z } from 'zod';

export const PROBLEM_TYPE = 'application/problem+json';

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly field?: string;
  readonly detail: string;
  readonly fix: string;
  readonly request_id: string;
}

export const problemAnswer = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(CATALOGUE) as [ErrorCode, ...ErrorCode[]]),
    field: z.string().optional().describe('What it is about.'),
    detail: z.string(),
    fix: z.string().describe('What to do about it.'),
    request_id: z.string(),
  })
  .meta({ id: 'Problem' });

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const { code, field } = refusal;
  const { status, fix } = CATALOGUE[code];
  return {
    type: `urn:carillon:error:${code}`,
    title: titleOf(code),
    status,
    code,
    ...(field !== undefined && { field }),
    detail: refusal.message,
    fix,
    request_id: requestId,
  };
}

/** field_unknown → Field unknown */
export function titleOf(code: ErrorCode): string {
  const words = code.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}
