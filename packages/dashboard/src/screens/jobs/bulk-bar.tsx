/** What can be done with the ticked jobs, or with all that match the filter. */
import type { ListedJob } from '@carillon/client';
import { Button, Text, Tooltip } from '@mantine/core';
import { useState } from 'react';
import { type Action, usePermission } from '../../api/session.ts';
import { BulkDialog } from './bulk-dialog.tsx';
import type { BulkAction, BulkTarget } from './bulk-work.ts';
import { isNarrowed, type JobSearch, jobFilterOf } from './job-filters.tsx';
import classes from './jobs.module.css';

const ACTIONS: readonly { action: BulkAction; label: string; needs: Action }[] = [
  { action: 'pause', label: 'Pause', needs: 'jobs.pause' },
  { action: 'resume', label: 'Resume', needs: 'jobs.pause' },
  { action: 'cancel', label: 'Cancel', needs: 'jobs.cancel' },
];

interface BulkBarProps {
  readonly ids: ReadonlySet<string>;
  readonly items: readonly ListedJob[];
  readonly search: JobSearch;
  readonly onClear: () => void;
}

export function BulkBar({ ids, items, search, onClear }: BulkBarProps) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<BulkAction>();
  const canBeAll = isNarrowed(search) || search.ns !== undefined;
  const isAll = all && canBeAll;
  const target: BulkTarget = isAll
    ? { filter: jobFilterOf(search) as NonNullable<Extract<BulkTarget, { filter: unknown }>['filter']> }
    : { ids: [...ids] };
  return (
    <section className={classes.bar} aria-label="Selected jobs">
      <Text size="sm" fw={600}>
        {isAll ? 'All that match the filter' : `${ids.size} selected`}
      </Text>
      {ACTIONS.map(({ action, label, needs }) => (
        <BulkButton
          key={action}
          label={label}
          needs={needs}
          namespace={search.ns}
          onClick={() => setOpen(action)}
        />
      ))}
      {canBeAll && (
        <Button size="compact-xs" variant="subtle" onClick={() => setAll(!isAll)}>
          {isAll ? `Only the ${ids.size} selected` : 'Select all that match the filter'}
        </Button>
      )}
      <Button size="compact-xs" variant="subtle" onClick={onClear}>
        Clear selection
      </Button>
      {open && (
        <BulkDialog
          action={open}
          target={target}
          nameOf={(id) => items.find(({ job_id: jobId }) => jobId === id)?.name}
          onClose={() => setOpen(undefined)}
        />
      )}
    </section>
  );
}

function BulkButton(props: {
  label: string;
  needs: Action;
  namespace: string | undefined;
  onClick: () => void;
}) {
  const { label, needs, namespace, onClick } = props;
  const { why } = usePermission(needs, { namespace });
  return (
    <Tooltip label={why} disabled={why === undefined} events={{ hover: true, focus: true, touch: true }}>
      <Button
        size="compact-sm"
        variant="default"
        aria-disabled={why !== undefined}
        data-disabled={why !== undefined || undefined}
        onClick={() => {
          if (why === undefined) onClick();
        }}
      >
        {label}
      </Button>
    </Tooltip>
  );
}
