/**
 * Fields with what they were and what they will be, in columns. In a difference, lines that go and come have a sign and, for screen readers,
 * a word; what changed within a line is underlined.
 */
import type { Json } from '@carillon/client';
import { Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './changes-table.module.css';
import { type Line, markedLines } from './marked-lines.ts';

interface ChangesTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** The two columns are before and after. */
  readonly isDifference?: boolean;
  /** Stands for a value that is not there. */
  readonly missing?: string;
  readonly rows: readonly {
    readonly field: string;
    readonly values: readonly (Json | undefined)[];
    readonly mark?: string | undefined;
  }[];
}

export function ChangesTable({
  label,
  columns,
  isDifference = false,
  missing = 'default',
  rows,
}: ChangesTableProps) {
  return (
    <Table.ScrollContainer minWidth={360}>
      <Table aria-label={label} verticalSpacing={6} withTableBorder>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            {columns.map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ field, values, mark }) => (
            <Table.Tr key={field}>
              <Table.Td className="mono" style={{ verticalAlign: 'top' }}>
                {field}
                {mark !== undefined && <div>{mark}</div>}
              </Table.Td>
              {cellsOf(
                values.map((value) => shown(value, MISSING[field] ?? missing)),
                isDifference,
              ).map((cell, i) => (
                <Table.Td key={columns[i]} className="mono wrap-anywhere" style={{ verticalAlign: 'top' }}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function cellsOf([was = '', is = '']: readonly string[], isDifference: boolean): readonly ReactNode[] {
  if (!isDifference) return [was, is];
  const { before, after } = markedLines(was, is);
  return [<Lines key="before" lines={before} />, <Lines key="after" lines={after} />];
}

const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

function Lines({ lines }: { lines: readonly Line[] }) {
  return lines.map(({ kind, parts }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place alone.
    <div key={at} className={classes.line} data-kind={kind}>
      <span aria-hidden="true" className={classes.sign}>
        {SIGNS[kind]}
      </span>
      <span>
        {kind !== 'same' && <VisuallyHidden>{`${kind}: `}</VisuallyHidden>}
        {parts.map(({ text, changed }, place) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the same of its parts.
          changed ? <mark key={place}>{text}</mark> : text,
        )}
      </span>
    </div>
  ));
}

/** Without them a job has none, whatever the columns are about. */
const MISSING: Readonly<Record<string, string>> = { key: 'no key' };

function shown(value: Json | undefined, missing: string): string {
  if (value === undefined || value === null) return missing;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
