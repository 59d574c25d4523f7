import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderYaml } from './yaml.ts';

test('maps, lists and texts in blocks', () => {
  const value = { name: 'nightly', labels: {}, at: '2027-03-01', runs: [{ id: 1, ok: true }, []], no: 'no' };
  expect(renderYaml(value)).toBe(
    [
      'name: nightly',
      'labels: {}',
      'at: "2027-03-01"',
      'runs:',
      '  - id: 1',
      '    ok: true',
      '  - []',
      '"no": "no"',
    ].join('\n'),
  );
});

test.each(['1.1', '1.2'] as const)('a reader of YAML %s gets what JSON would give', (version) => {
  const options = { depthSize: 'small', stringUnit: 'binary' } as const;
  fc.assert(
    fc.property(fc.jsonValue(options), (value) => {
      expect(parse(renderYaml(value), { version })).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
