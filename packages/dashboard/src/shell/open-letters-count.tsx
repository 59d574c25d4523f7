/** How many runs were given up and wait for somebody, beside the way to them. The server counts to a bound. */
import { Badge } from '@mantine/core';
import { useNowStats } from './status-bar.tsx';

const COUNTED_MAX = 99;

export function OpenLettersCount() {
  const open = useNowStats()?.open_dead_letters ?? 0;
  if (open === 0) return null;
  const words = open > COUNTED_MAX ? `${COUNTED_MAX}+` : String(open);
  return (
    <Badge size="sm" color="red.9" variant="filled" aria-label={`${words} open`} title={`${words} open`}>
      {words}
    </Badge>
  );
}
