import { CATALOGUE } from '@carillon/domain';
import { expect, test } from 'vitest';
import { fixWords, wordsAtField } from './refusal-words.ts';

test('no advice at the page names a request, or what programs find in an answer', () => {
  const told = Object.entries(CATALOGUE).map(([code, { fix }]) => [code, fixWords({ code, fix }) ?? '']);
  const ofTheInterface = told.filter(([, words]) =>
    /\/api\b|the answer|Retry-After|this answer|ETag|csrf_token|current_password/.test(words!),
  );
  expect(ofTheInterface).toEqual([]);
});

test('what is of use to people stays', () => {
  const of = (code: keyof typeof CATALOGUE) => fixWords({ code, fix: CATALOGUE[code].fix });
  expect(of('namespace_in_use')).toBe('Remove its jobs first. The default namespace always stays.');
  expect(of('signing_keys_full')).toBe('Delete a signing key that receivers use no more.');
  expect(of('zone_unknown')).toBe(CATALOGUE.zone_unknown.fix);
  expect(of('job_not_found')).toBe('It may have been removed meanwhile.');
  expect(of('field_invalid')).toBeUndefined();
  const { fix } = CATALOGUE.run_not_found;
  const message = 'The id of a run is a UUID, such as 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.';
  expect(fixWords({ code: 'run_not_found', message, fix })).toBeUndefined();
});

test('what stands at a field does not name it as programs do', () => {
  expect(wordsAtField('payload.url must be an address.', 'payload.url')).toBe('This must be an address.');
  expect(wordsAtField('The name is taken.', 'name')).toBe('The name is taken.');
});
