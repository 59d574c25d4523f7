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
}

export function RedriveButton({ runId, jobName, namespace, onRedriven, ...look }: RedriveButtonProps) {
  const queries = useQueryClient();
  return (
    <ActionButton
      label="Redrive"
      action="dead_letters.redrive"
      namespace={namespace}
      {...look}
      run={async () => {
        const { run_id: newRunId } = await carillon.deadLetters.redrive(runId);
        await Promise.all(
          (['dead', 'runs', 'jobs', 'stats'] as const).map((about) =>
            queries.invalidateQueries({ queryKey: queryKeys.all(about) }),
          ),
        );
        onRedriven?.(newRunId);
        return `${jobName ?? 'The run'} was sent round again.`;
      }}
    />
  );
}
