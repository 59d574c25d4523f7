import { expect, test } from 'vitest';
import { type Column, renderTable, widthOf } from './table.ts';

interface Row {
  readonly id: string;
  readonly text: string;
}

const COLUMNS: Column<Row>[] = [
  { header: 'ID', value: ({ id }) => id, fixed: true },
  { header: 'TEXT', value: ({ text }) => text },
];
const plain = { width: undefined, paintHeader: (text: string) => text };
const ROWS = [
  { id: '0123456789', text: 'a rather long text that does not fit' },
  { id: '1', text: 'short' },
];

test('in a pipe nothing is cut', () => {
  expect(renderTable(COLUMNS, ROWS, plain).split('\n')).toEqual([
    'ID          TEXT',
    '0123456789  a rather long text that does not fit',
    '1           short',
  ]);
});

test('on a terminal the widest column gives way, ids never', () => {
  const lines = renderTable(COLUMNS, ROWS, { ...plain, width: 24 }).split('\n');
  expect(lines[1]).toBe('0123456789  a rather lo…');
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(24);
});

test('on a narrow terminal the last columns are left out before all are cut to nothing', () => {
  const wide: Column<Row>[] = [
    ...COLUMNS,
    ...['A', 'B', 'C'].map((header) => ({ header, value: () => `${header} has twenty letters` })),
  ];
  const [head, first] = renderTable(wide, ROWS, { ...plain, width: 44 }).split('\n');
  expect(head).toBe('ID          TEXT             A');
  expect(first).toBe('0123456789  a rather long …  A has twenty l…');
});

test('what matters most stays, wherever it stands', () => {
  const columns: Column<Row>[] = [
    { header: 'ID', value: ({ id }) => id, fixed: true, rank: 1 },
    { header: 'DETAIL', value: () => 'a detail', fixed: true, rank: 4 },
    { header: 'OTHER', value: () => 'another', fixed: true, rank: 3 },
    { header: 'TEXT', value: ({ text }) => text, rank: 2, usefulWidth: 20 },
  ];
  const shown = (width: number) => renderTable(columns, ROWS, { ...plain, width }).split('\n');
  expect(shown(80)[0]).toBe('ID          DETAIL    OTHER    TEXT');
  expect(shown(50)[0]).toBe('ID          OTHER    TEXT');
  expect(shown(50)[1]).toBe('0123456789  another  a rather long text that does…');
});

test('a terminal that is too narrow for the ids is still given them whole', () => {
  expect(renderTable(COLUMNS, ROWS, { ...plain, width: 5 })).toContain('0123456789');
});

test('control characters of others do not reach the terminal', () => {
  const shown = renderTable(COLUMNS, [{ id: '1', text: 'red\u001b[31m\u202enext\nline' }], plain);
  expect(shown).toContain('red\\u001b[31m\\u202enext⏎line');
});

test('wide characters are counted as the two columns they take', () => {
  expect(widthOf('日本')).toBe(4);
  expect(widthOf('🎉é')).toBe(3);
});
