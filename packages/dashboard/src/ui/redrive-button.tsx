/** Sends a run that was given up round again, as a new run; the same button wherever such a run is shown. */

import type { ButtonProps } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { carillon } from '../api/carillon.ts';
import { queryKeys } from '../api/query-keys.ts';
import { ActionButton } from './action-button.tsx';

interface RedriveButtonProps extends Pick<ButtonProps, 'size' | 'variant'> {
  readonly runId: string;
  readonly jobName: string | null | undefined;
  readonly namespace?: string | undefined;
  readonly onRedriven?: ((newRunId: string) => void) | undefined;
  /** In a list of those that nobody has handled. */
  readonly row?: LetterRow | undefined;
}

interface LetterRow {
  /** It is redriven, and stands there until the pointer leaves the list. */
  readonly isEnded: boolean;
  readonly end: (isEnded: boolean) => void;
}

export function RedriveButton({ runId, jobName, namespace, onRedriven, row, ...look }: RedriveButtonProps) {
  const queries = useQueryClient();
  return (
    <ActionButton
      label={row?.isEnded ? 'Redriven' : 'Redrive'}
      disabledBecause={row?.isEnded ? 'It was redriven.' : undefined}
      hint="It runs again as a new run, with the job as it is now."
      keepsRow={row !== undefined}
      action="dead_letters.redrive"
      namespace={namespace}
      {...look}
      run={async () => {
        // Before it is sent: the stream may tell of it before it is answered.
        row?.end(true);
        const { run_id: newRunId } = await carillon.deadLetters.redrive(runId).catch((error: unknown) => {
          row?.end(false);
          throw error;
        });
        await Promise.all(
          (['dead', 'runs', 'jobs', 'stats'] as const).map((about) =>
            queries.invalidateQueries({ queryKey: queryKeys.all(about) }),
          ),
        );
        onRedriven?.(newRunId);
        return { message: `${jobName ?? 'The run'} was redriven.`, runId: newRunId };
      }}
    />
  );
}
