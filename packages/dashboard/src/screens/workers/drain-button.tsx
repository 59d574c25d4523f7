/** Lets a worker take no more runs and end those that it holds, and the way back. */

import type { Worker } from '@carillon/client';
import { useQueryClient } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { nameOfWorker, useWorkerName } from '../../ui/worker-link.tsx';

export function DrainButton({ worker }: { worker: Worker }) {
  const queries = useQueryClient();
  const { worker_id: id, draining, running, alive } = worker;
  const kept = useWorkerName()(id);
  const called = kept ?? nameOfWorker(worker) ?? id;
  const done = () => queries.invalidateQueries({ queryKey: queryKeys.all('workers') });
  if (draining)
    return (
      <ActionButton
        key="undrain"
        label="Undrain"
        action="workers.manage"
        size="compact-xs"
        run={async () => {
          await carillon.workers.undrain(id);
          await done();
          return `${called} takes runs again.`;
        }}
      />
    );
  return (
    <ActionButton
      key="drain"
      label="Drain"
      action="workers.manage"
      size="compact-xs"
      disabledBecause={
        alive ? undefined : 'It has not been heard of for a while, and its runs were taken back.'
      }
      confirm={{
        title: `Drain ${called}?`,
        effect: `It takes no more runs. ${running === 0 ? 'It holds none now.' : `The ${running} that it holds go on to their end.`}`,
      }}
      run={async () => {
        await carillon.workers.drain(id);
        await done();
        return `${called} takes no more runs.`;
      }}
    />
  );
}
