import { expect, expectTypeOf, test } from 'vitest';
import type { CATALOGUE } from '../../domain/src/errors/catalogue.ts';
import { CarillonError, type CarillonErrorCode, isCarillonError } from './carillon-error.ts';
import type { ErrorCode } from './generated/types.ts';

test('the codes are those of the server', () => {
  expectTypeOf<ErrorCode>().toEqualTypeOf<keyof typeof CATALOGUE>();
});

test('an error is told apart by its code, and its type follows', () => {
  const error: unknown = new CarillonError({ code: 'job_not_found', message: 'No.' });
  expect(isCarillonError(error)).toBe(true);
  expect(isCarillonError(error, 'job_not_found')).toBe(true);
  expect(isCarillonError(error, 'run_not_found', 'job_not_found')).toBe(true);
  expect(isCarillonError(error, 'run_not_found')).toBe(false);
  expect(isCarillonError(new Error('job_not_found'), 'job_not_found')).toBe(false);
  if (isCarillonError(error, 'run_not_found', 'unreachable'))
    expectTypeOf(error.code).toEqualTypeOf<'run_not_found' | 'unreachable'>();
  else if (isCarillonError(error)) expectTypeOf(error.code).toEqualTypeOf<CarillonErrorCode>();
  // @ts-expect-error: no such code
  expect(isCarillonError(error, 'job_lost')).toBe(false);
});
