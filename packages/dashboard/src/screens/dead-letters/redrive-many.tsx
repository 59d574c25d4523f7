/** Redrives all open letters that match, after they were counted. */
import { useEffect, useState } from 'react';
import { usePermission } from '../../api/session.ts';
import { BulkButton } from '../../ui/bulk/bulk-bar.tsx';
import { BulkDialog } from '../../ui/bulk/bulk-dialog.tsx';
import { notify } from '../../ui/notify.ts';
import { randomKey } from '../../ui/random-key.ts';
import { filterOfNow, type LetterFilter, REDRIVE, readLetterName } from './redrive-action.ts';

interface RedriveManyProps {
  readonly filter: LetterFilter;
  /** As an address may ask for. */
  readonly startsOpen: boolean;
  readonly onStarted: () => void;
}

export function RedriveMany({ filter, startsOpen, onStarted }: RedriveManyProps) {
  const { allowed } = usePermission(REDRIVE.needs, { namespace: filter.namespace });
  const [open, setOpen] = useState<{ filter: LetterFilter; key: string }>();
  const ask = async () => {
    try {
      setOpen({ filter: await filterOfNow(filter), key: randomKey() });
    } catch (error) {
      notify({ error });
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each address that asks for it
  useEffect(() => {
    if (!startsOpen) return;
    onStarted();
    if (allowed) void ask();
  }, [startsOpen]);
  return (
    <div data-page-actions>
      <BulkButton
        label="Redrive all that match"
        needs={REDRIVE.needs}
        namespace={filter.namespace}
        onClick={() => void ask()}
      />
      {open && (
        <BulkDialog
          action={REDRIVE}
          target={{ filter: open.filter }}
          noun="dead letter"
          nameOf={readLetterName}
          idempotencyKey={open.key}
          onClose={() => setOpen(undefined)}
        />
      )}
    </div>
  );
}
