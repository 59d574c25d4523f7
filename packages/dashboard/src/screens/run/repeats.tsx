/** What a run repeats, and what it was repeated as: a redriven run and its origin know each other. */
import type { RunWithAttempts } from '@carillon/client';
import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Instant } from '../../ui/instant.tsx';

const by = (name: string | null) => (name === null ? '' : ` by ${name}`);

export function Repeats({ run }: { run: RunWithAttempts }) {
  const {
    origin_run_id: origin,
    requested_by: who,
    repeated_as: repeats,
    trigger,
    dead_letter: letter,
  } = run;
  // The run that a dead letter was redriven as is told where it is said that it was given up.
  const shown = repeats.filter(({ run_id: runId }) => runId !== letter?.redriven_run_id);
  return (
    <>
      {origin !== null && (
        <Text size="sm" component="div" className="prose">
          {trigger === 'redrive' ? 'Redriven' : 'Run again'}
          {by(who)} from run <RunLink runId={origin} />.
        </Text>
      )}
      {shown.map(({ run_id: runId, requested_by: name, requested_at: at }) => (
        <Text size="sm" component="div" className="prose" key={runId}>
          Run again as <RunLink runId={runId} />
          {by(name)} <Instant at={at} />.
        </Text>
      ))}
    </>
  );
}

function RunLink({ runId }: { runId: string }) {
  return (
    <Link to="/runs/$runId" params={{ runId }} className="mono">
      {runId}
    </Link>
  );
}
