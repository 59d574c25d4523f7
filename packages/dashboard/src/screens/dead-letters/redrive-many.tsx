/** Redrives all open letters that match, after they were counted. */
import { useState } from 'react';
import { BulkButton } from '../../ui/bulk/bulk-bar.tsx';
import { BulkDialog } from '../../ui/bulk/bulk-dialog.tsx';
import { notify } from '../../ui/notify.ts';
import { randomKey } from '../../ui/random-key.ts';
import { filterOfNow, type LetterFilter, REDRIVE, readLetterName } from './redrive-action.ts';

export function RedriveMany({ filter }: { filter: LetterFilter }) {
  const [open, setOpen] = useState<{ filter: LetterFilter; key: string }>();
  const ask = async () => {
    try {
      setOpen({ filter: await filterOfNow(filter), key: randomKey() });
    } catch (error) {
      notify({ error });
    }
  };
  return (
    <>
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
    </>
  );
}
