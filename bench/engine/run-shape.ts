/**
 * What the runs of a measurement are like. Plain ones do nothing; those with results answer 200 bytes of JSON each, and every
 * twentieth fails at its first attempt and is tried again at once.
 */
import type { JobInput } from '../../packages/domain/src/job/job.ts';
import { HandlerError, type RunContext } from '../../packages/worker/src/handler.ts';

export type RunShape = 'plain' | 'results';

const resultBytes = 200;
const failsEvery = 20;
const indexDigits = 8;
const text = 'x'.repeat(
  resultBytes - JSON.stringify({ index: '0'.repeat(indexDigits), status: 'done', text: '' }).length,
);

export const retriedAtOnce: Partial<JobInput> = {
  maxRetries: 1,
  retry: { strategy: 'fixed', delaySeconds: 0, jitter: false },
};

export function resultOf(index: number): object {
  return { index: String(index).padStart(indexDigits, '0'), status: 'done', text };
}

export function failsOnce(index: number): boolean {
  return index % failsEvery === 0;
}

export function failuresAmong(jobs: number): number {
  return Math.ceil(jobs / failsEvery);
}

/** Throws when the run is one that has to fail now. */
export function failIfPlanned(index: number, { attempt }: Pick<RunContext, 'attempt'>): void {
  if (attempt === 1 && failsOnce(index)) throw new HandlerError('fails once, as planned');
}
