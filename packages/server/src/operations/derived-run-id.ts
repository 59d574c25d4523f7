/**
 * The id of a run that somebody asks for under a key of their own: the same key for the same job is the same run, however
 * often and through whichever server it is asked for, without a table of keys.
 */
import { createHash } from 'node:crypto';
import type { RunId } from '@carillon/domain';

export function derivedRunId(parts: { purpose: string; subject: string; key: string }): RunId {
  // None of the parts can hold a line break.
  const digest = createHash('sha256')
    .update(`${parts.purpose}\n${parts.subject}\n${parts.key}`)
    .digest('hex');
  // Version 8 of RFC 9562: made by a rule of one's own.
  const variant = ((Number.parseInt(digest[16]!, 16) & 0x3) | 0x8).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-') as RunId;
}
