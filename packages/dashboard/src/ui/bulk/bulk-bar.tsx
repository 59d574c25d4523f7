/** What can be done with the ticked rows of a list, or with all that match its filter. */
import { Button, Text, Tooltip } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Action, usePermission } from '../../api/session.ts';
import { randomKey } from '../random-key.ts';
import classes from './bulk-bar.module.css';
import { type BulkAction, BulkDialog, type Noun } from './bulk-dialog.tsx';

interface BulkBarProps<Filter> {
  readonly noun: Noun;
  readonly ids: readonly string[];
  /** Undefined: the list is not narrowed, and nothing means everything by accident. */
  readonly filter: Filter | undefined;
  readonly actions: readonly BulkAction<Filter>[];
  readonly namespace: string | undefined;
  readonly nameOf: (id: string) => Promise<string>;
  /** What can be done with one alone. */
  readonly ofOne?: ReactNode;
  readonly onClear: () => void;
}

export function BulkBar<Filter>(props: BulkBarProps<Filter>) {
  const { noun, ids, filter, actions, namespace, nameOf, ofOne, onClear } = props;
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<{ action: BulkAction<Filter>; key: string }>();
  const isAll = all && filter !== undefined;
  return (
    <section className={classes.bar} aria-label={`Selected ${noun}s`} data-page-actions>
      <Text size="sm" fw={600}>
        {isAll ? 'All that match the filter' : `${ids.length} selected`}
      </Text>
      {actions.map((action) => (
        <BulkButton
          key={action.key}
          label={action.verb}
          needs={action.needs}
          namespace={namespace}
          onClick={() => setOpen({ action, key: randomKey() })}
        />
      ))}
      {ids.length === 1 && !isAll && ofOne}
      {filter !== undefined && (
        <Button size="compact-xs" variant="subtle" onClick={() => setAll(!isAll)}>
          {isAll ? `Only the ${ids.length} selected` : 'Select all that match the filter'}
        </Button>
      )}
      <Button size="compact-xs" variant="subtle" onClick={onClear}>
        Clear selection
      </Button>
      {open && (
        <BulkDialog
          action={open.action}
          target={isAll ? { filter } : { ids }}
          noun={noun}
          nameOf={nameOf}
          idempotencyKey={open.key}
          onClose={(changed) => {
            setOpen(undefined);
            // Jobs stay where they are: another action may follow.
            if (changed && noun !== 'job') onClear();
          }}
        />
      )}
    </section>
  );
}

export function BulkButton(props: {
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
