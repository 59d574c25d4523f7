import { expect, test } from 'vitest';
import { changedFields, jobFields, needsCurrent } from './job-flags.ts';

test('a script, its interpreter and its arguments make a script job', () => {
  expect(jobFields({ script: 'echo "$1"', interpreter: 'bash', arg: ['a b'] })).toEqual({
    handler: 'script',
    payload: { script: 'echo "$1"', interpreter: 'bash', args: ['a b'] },
  });
  expect(jobFields({ script: 'x', payload: { customer: 17 } })).toEqual({
    handler: 'script',
    payload: { script: 'x', customer: 17 },
  });
});

test('a new script replaces the place of the one before, and keeps the rest', () => {
  const current = {
    handler: 'script',
    payload: { code_location: '/srv/a.sh', sha256: 'x', args: ['a'], env: { A: 'b' } },
  };
  expect(needsCurrent({ script: 'new' })).toBe(true);
  expect(changedFields({ script: 'new' }, current as never)).toEqual({
    handler: 'script',
    payload: { script: 'new', args: ['a'], env: { A: 'b' } },
  });
});

test('variables of a script are added, replaced, and removed without a value', () => {
  expect(jobFields({ script: 'x', env: { A: ' b=c ' } })).toEqual({
    handler: 'script',
    payload: { script: 'x', env: { A: ' b=c ' } },
  });
  const current = { handler: 'script', payload: { script: 'x', env: { A: 'b', C: 'd', E: 'f' } } };
  expect(needsCurrent({ env: { A: '1' } })).toBe(true);
  expect(changedFields({ env: { A: '1', C: '' } }, current as never)).toEqual({
    payload: { script: 'x', env: { A: '1', E: 'f' } },
  });
  expect(() => changedFields({ env: { A: '1' } }, { handler: 'http' } as never)).toThrow(
    'belong to --script',
  );
});

test('flags of a call and of a script are not mixed', () => {
  expect(() => jobFields({ http: 'http://example.org', script: 'x' })).toThrow('both say what to run');
  expect(() => jobFields({ interpreter: 'bash' })).toThrow(
    '--interpreter, --arg and --env belong to --script',
  );
  expect(() => jobFields({ method: 'POST' })).toThrow('belong to --http');
});
