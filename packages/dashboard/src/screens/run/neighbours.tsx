/** The runs before and after this one of the same job, by button and by `[` and `]`. */

import type { RunWithAttempts } from '@carillon/client';
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';

/** Further back, neighbours are not looked for: the list of runs has them. */
const LOOKED_AT_MAX = 200;

export function Neighbours({ run }: { run: RunWithAttempts }) {
  const navigate = useNavigate();
  const { ns, tab } = useSearch({ from: '/shell/runs/$runId' });
  const { data: ids = [] } = useQuery({
    queryKey: queryKeys.runs('of job', run.job_id),
    queryFn: async () => {
      const { items } = await carillon.runs
        .list({ job_id: run.job_id, attempts: 'last', limit: LOOKED_AT_MAX })
        .page();
      return [...new Set(items.map(({ run_id: id }) => id))];
    },
  });
  // The newest stands first.
  const at = ids.indexOf(run.run_id);
  const older = at === -1 ? undefined : ids[at + 1];
  const newer = at === -1 ? undefined : ids[at - 1];
  const open = (runId: string | undefined) => {
    if (runId === undefined) return;
    const search = { ...(ns !== undefined && { ns }), ...(tab !== undefined && { tab }) };
    void navigate({ to: '/runs/$runId', params: { runId }, search });
  };
  useShortcuts({ '[': () => open(older), ']': () => open(newer) });
  return (
    <Group gap={4} wrap="nowrap">
      <Step label="Earlier run of this job" keyName="[" onClick={() => open(older)} off={older === undefined}>
        ‹
      </Step>
      <Step label="Later run of this job" keyName="]" onClick={() => open(newer)} off={newer === undefined}>
        ›
      </Step>
    </Group>
  );
}

function Step({
  label,
  keyName,
  off,
  onClick,
  children,
}: {
  label: string;
  keyName: string;
  off: boolean;
  onClick: () => void;
  children: string;
}) {
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={label}
      title={`${label} (${keyName})`}
      disabled={off}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
