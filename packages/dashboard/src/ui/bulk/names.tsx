/** Names the first of those that a dialog is about to change, and tells how many more there are. */
import { List, Text } from '@mantine/core';

interface NamesProps {
  readonly names: readonly string[];
  readonly count: number;
}

/** Runs of one job share its name. */
export function Names({ names, count }: NamesProps) {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  return (
    <>
      <List size="sm" aria-label="The first of them" className="wrap-anywhere">
        {[...times].map(([name, number]) => (
          <List.Item key={name}>{number === 1 ? name : `${name} (${number})`}</List.Item>
        ))}
      </List>
      {count > names.length && names.length > 0 && (
        <Text size="sm" c="dimmed">
          and {count - names.length} more
        </Text>
      )}
    </>
  );
}
