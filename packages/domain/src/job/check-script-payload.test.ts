import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import type { JsonObject } from '../ids.ts';
import { checkScriptPayload, refuseSecretsInCommand, variableRefusal } from './check-script-payload.ts';
import { PAYLOAD_CHECKS } from './define-job-values.ts';

const DIGEST = 'a'.repeat(64);

function refusalOf(payload: JsonObject): Refusal | undefined {
  try {
    checkScriptPayload(payload);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

describe('a secret in the command line of a script, which every account of its machine can read', () => {
  const SECRET = '{{secrets.token}}';

  test.each<[string, JsonObject]>([
    ['payload.args[1]', { script: 'echo', args: ['-t', `--token=${SECRET}`] }],
    ['payload.code_location', { code_location: `/srv/${SECRET}/a.sh` }],
    ['payload.script', { script: `#!/usr/bin/python3 ${SECRET}\nprint(1)` }],
  ])('in %s is refused when the job is made', (field, payload) => {
    const check = PAYLOAD_CHECKS.get('script')!;
    expect(() => check(payload)).toThrow(expect.objectContaining({ field }));
    expect(() => check(payload)).toThrow(/env.*stdin.*payload file/);
  });

  test.each<JsonObject>([
    { script: `echo ${SECRET}`, env: { TOKEN: SECRET }, stdin: SECRET, token: SECRET },
    { script: `#!/bin/sh\necho ${SECRET}`, args: ['{{!secrets.token}}', 1, true] },
    { code_location: `https://example.org/${SECRET}/a.sh`, sha256: DIGEST },
  ])('is no matter of %j', (payload) => {
    expect(() => PAYLOAD_CHECKS.get('script')!(payload)).not.toThrow();
    expect(() => refuseSecretsInCommand({ args: 1, script: null, code_location: [] })).not.toThrow();
  });
});

describe('the payload of a script job', () => {
  test.each<JsonObject>([
    { script: 'echo' },
    { interpreter: 'python3', script: 'print(1)', args: ['a', 1, true], env: { A: 'b', N: 3 } },
    { code_location: '/srv/report.py' },
    { code_location: '/srv/report.py', sha256: DIGEST },
    { code_location: 'https://example.org/a.sh', sha256: `sha256:${DIGEST}` },
    { script: 'cat', stdin: '', merge_output: true, day: '2030-01-01', nested: { any: [1] } },
    { script: 'echo', code_location: null, interpreter: null, args: null, env: null },
  ])('%j is accepted', (payload) => {
    expect(refusalOf(payload)).toBeUndefined();
  });

  test.each<[JsonObject, string]>([
    [{}, 'payload.script'],
    [{ script: '  ' }, 'payload.script'],
    [{ script: 1 }, 'payload.script'],
    [{ script: 'a', code_location: '/b' }, 'payload.script'],
    [{ code_location: 'report.py' }, 'payload.code_location'],
    [{ code_location: 's3://bucket/key' }, 'payload.code_location'],
    [{ code_location: 'http://example.org/a.sh', sha256: DIGEST }, 'payload.code_location'],
    [{ code_location: 'https://example.org/a.sh' }, 'payload.sha256'],
    [{ script: 'a', sha256: 'abc' }, 'payload.sha256'],
    [{ script: 'a', interpreter: '/bin/sh' }, 'payload.interpreter'],
    [{ script: 'a', interpreter: 'bash -c' }, 'payload.interpreter'],
    [{ script: 'a', args: 'x' }, 'payload.args'],
    [{ script: 'a', args: ['x', {}] }, 'payload.args[1]'],
    [{ script: 'a', env: ['A=b'] }, 'payload.env'],
    [{ script: 'a', env: { 'A B': 'c' } }, 'payload.env'],
    [{ script: 'a', env: { A: {} } }, 'payload.env.A'],
    [{ script: 'a', stdin: 1 }, 'payload.stdin'],
    [{ script: 'a', merge_output: 'yes' }, 'payload.merge_output'],
    [{ script: 'a', arguments: [] }, 'payload.arguments'],
  ])('%j is refused by the name of its field', (payload, field) => {
    expect(refusalOf(payload)?.field).toBe(field);
  });

  test('a variable that would load other code is refused (hazard 36)', () => {
    for (const name of [
      'LD_PRELOAD',
      'ld_library_path',
      'BASH_ENV',
      'ENV',
      'NODE_OPTIONS',
      'PYTHONPATH',
      'PERL5OPT',
    ])
      expect(variableRefusal(name), name).toContain('would load other code');
    expect(variableRefusal('CARILLON_RUN_ID')).toBe('is set by Carillon itself');
    for (const name of ['PATH', 'HOME', 'ENVIRONMENT', 'TZ'])
      expect(variableRefusal(name), name).toBeUndefined();
  });
});
