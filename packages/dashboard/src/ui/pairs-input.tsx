/** Names with values, a row each. Rows that are not finished stay on the page; only finished ones are given on. */
import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';

type Pairs = Readonly<Record<string, string>>;
interface Row {
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

interface PairsInputProps {
  readonly label: string;
  readonly description?: ReactNode;
  readonly value: Pairs;
  readonly error?: ReactNode;
  /** What one is called, such as header. */
  readonly one: string;
  readonly namePlaceholder?: string | undefined;
  readonly valuePlaceholder?: string | undefined;
  readonly onChange: (value: Pairs | undefined) => void;
}

let lastId = 0;
function nextId(): number {
  lastId += 1;
  return lastId;
}

export function PairsInput(props: PairsInputProps) {
  const { label, description, value, error, one, namePlaceholder, valuePlaceholder, onChange } = props;
  const [rows, setRows] = useState(() => rowsOf(value));
  const given = useRef(value);
  // Changed elsewhere, not by what was typed here.
  useEffect(() => {
    if (JSON.stringify(given.current) === JSON.stringify(value)) return;
    given.current = value;
    setRows(rowsOf(value));
  }, [value]);
  const change = (to: readonly Row[]) => {
    setRows(to);
    const pairs = Object.fromEntries(
      to.filter(({ name }) => name !== '').map(({ name, value: text }) => [name, text]),
    );
    given.current = pairs;
    onChange(Object.keys(pairs).length === 0 ? undefined : pairs);
  };
  const set = (id: number, part: Partial<Row>) =>
    change(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <Input.Wrapper label={label} description={description} error={error} labelElement="div">
      <Stack gap={6} mt={4} role="group" aria-label={label}>
        {rows.map((row, i) => (
          <Group key={row.id} gap={6} wrap="nowrap">
            <TextInput
              flex={1}
              size="xs"
              aria-label={`Name of ${one} ${i + 1}`}
              placeholder={namePlaceholder}
              value={row.name}
              onChange={({ currentTarget }) => set(row.id, { name: currentTarget.value })}
            />
            <TextInput
              flex={2}
              size="xs"
              aria-label={`Value of ${one} ${i + 1}`}
              placeholder={valuePlaceholder}
              value={row.value}
              onChange={({ currentTarget }) => set(row.id, { value: currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${one} ${i + 1}`}
              onClick={() => change(rows.filter(({ id }) => id !== row.id))}
            >
              ×
            </ActionIcon>
          </Group>
        ))}
        <div>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setRows([...rows, { id: nextId(), name: '', value: '' }])}
          >
            Add a {one}
          </Button>
        </div>
      </Stack>
    </Input.Wrapper>
  );
}

function rowsOf(pairs: Pairs): readonly Row[] {
  return Object.entries(pairs).map(([name, value]) => ({ id: nextId(), name, value }));
}
