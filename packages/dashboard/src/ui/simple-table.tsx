/** A short table: everything is drawn. Longer lists are VirtualLists. */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface SimpleTableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly {
    readonly key: string;
    readonly title: string;
    readonly cell: (row: T) => ReactNode;
    /** Left out on narrow screens. */
    readonly from?: 'sm';
  }[];
  readonly idOf: (row: T) => string;
}

export function SimpleTable<T>({ label, rows, columns, idOf }: SimpleTableProps<T>) {
  return (
    <Table.ScrollContainer minWidth={280}>
      <Table aria-label={label} verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ key, title, from }) =>
              title === '' ? (
                <Table.Td key={key} />
              ) : (
                <Table.Th key={key} {...(from && { visibleFrom: from })}>
                  {title}
                </Table.Th>
              ),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={idOf(row)}>
              {columns.map(({ key, cell, from }) => (
                <Table.Td key={key} {...(from && { visibleFrom: from })}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
