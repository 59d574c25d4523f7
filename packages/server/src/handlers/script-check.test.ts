import { expect, test } from 'vitest';
import { scriptCheck } from './script-check.ts';

const worker = (labels: Record<string, string>) => ({ labels });
const check = (workers: readonly ReturnType<typeof worker>[], payload: object): unknown => {
  try {
    scriptCheck(workers)({ payload: JSON.stringify(payload) });
    return 'taken';
  } catch (error) {
    return error;
  }
};
const BASH = { script: 'true', interpreter: 'bash' };
const FISH = { script: 'true', interpreter: 'fish' };
const FILE = { code_location: '/srv/scripts/report.sh' };

test('an interpreter that one of the workers has is taken, and one that nobody has is refused with those that there are', () => {
  const workers = [
    worker({ 'script.interpreters': 'bash,sh' }),
    worker({ 'script.interpreters': 'bash,python3' }),
  ];
  expect(check(workers, BASH)).toBe('taken');
  expect(check(workers, { ...BASH, interpreter: 'python3' })).toBe('taken');
  expect(check(workers, { script: '#!/usr/bin/fish' })).toBe('taken');
  expect(check(workers, FISH)).toMatchObject({
    code: 'field_invalid',
    field: 'payload.interpreter',
    message: expect.stringMatching(/has "fish"\. There is bash, sh, python3\..*script\.interpreters/),
  });
  expect(check([worker({ 'script.interpreters': '' })], BASH)).toMatchObject({
    message: expect.stringMatching(/There is none\./),
  });
});

test('a path is taken when it lies in a folder that one of the workers runs scripts from', () => {
  const workers = [
    worker({ 'script.interpreters': 'bash' }),
    worker({ 'script.interpreters': 'bash', 'script.roots': '/opt/jobs:/srv/scripts' }),
  ];
  expect(check(workers, FILE)).toBe('taken');
  expect(check(workers, { code_location: 'https://example.org/x.sh', sha256: 'a'.repeat(64) })).toBe('taken');
  for (const path of ['/etc/passwd', '/srv/scripts-of-others/x', '/srv/scripts/../x', '/srv/scripts'])
    expect(check(workers, { code_location: path })).toMatchObject({
      code: 'field_invalid',
      field: 'payload.code_location',
      message: expect.stringMatching(/There is \/opt\/jobs, \/srv\/scripts\..*script\.roots/),
    });
});

test('nothing is refused when nobody runs scripts now, or one does not say which', () => {
  expect(check([], FISH)).toBe('taken');
  expect(check([worker({ 'script.interpreters': 'bash' }), worker({})], FISH)).toBe('taken');
});
