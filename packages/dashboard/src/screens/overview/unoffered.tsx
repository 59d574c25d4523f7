/** Runs that nobody can run: no worker offers their handler, so they wait for ever unless somebody helps. */
import { Alert, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { may, useCaller } from '../../api/session.ts';
import { useNowStats } from '../../shell/status-bar.tsx';
import { LinkButton } from '../../ui/link-button.tsx';

export function Unoffered() {
  const handlers = useNowStats()?.unoffered_handlers ?? [];
  const seesWorkers = may(useCaller(), 'workers.read');
  if (handlers.length === 0) return null;
  return (
    <Alert
      color="orange"
      variant="default"
      role="region"
      aria-label="Runs that nobody can run"
      title="Runs that nobody can run"
    >
      <Text size="sm" component="div" className="prose">
        No worker offers{' '}
        {handlers.map((handler, index) => (
          <span key={handler}>
            {index > 0 ? ', ' : ''}
            <Link to="/runs" search={{ status: 'QUEUED', handler }} className="mono">
              {handler}
            </Link>
          </span>
        ))}
        . Their runs wait until one does. If a name is misspelled, edit the job.
        {handlers.includes('script') &&
          ' Scripts need a server that was started with --script-enabled, or a worker for them (docs/scripts.md).'}
      </Text>
      {seesWorkers && (
        <Group mt={8}>
          <LinkButton label="See the workers" to="/workers" variant="default" />
        </Group>
      )}
    </Alert>
  );
}
