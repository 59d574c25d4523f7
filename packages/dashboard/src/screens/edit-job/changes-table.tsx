/** Fields with what they were and what they will be, in columns. */
import type { Json } from '@carillon/client';
import { Table } from '@mantine/core';

interface ChangesTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly {
    readonly field: string;
    readonly values: readonly (Json | undefined)[];
    readonly mark?: string | undefined;
  }[];
}

export function ChangesTable({ label, columns, rows }: ChangesTableProps) {
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
              {values.map((value, i) => (
                <Table.Td key={columns[i]} className="mono wrap-anywhere" style={{ verticalAlign: 'top' }}>
                  {shown(value)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function shown(value: Json | undefined): string {
  if (value === undefined || value === null) return 'default';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
