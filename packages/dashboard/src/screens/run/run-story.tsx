/** What became of a run, in words: why it failed or was cancelled, how far it is, and who asked for it. */
import type { RunWithAttempts } from '@carillon/client';
import { Alert, Group, Progress, Text } from '@mantine/core';
import { HiddenNote } from '../../ui/hidden-note.tsx';
import { waits } from '../../ui/run-state.ts';
import { percent } from '../../ui/time.ts';

export function Story({ run }: { run: RunWithAttempts }) {
  const {
    error_message: error,
    reason,
    progress,
    request_reason: asked,
    late_report: late,
    trigger,
    origin_run_id: origin,
    requested_by: who,
  } = run;
  return (
    <>
      {(run.status === 'CANCELLED' || run.status === 'CANCELLING') && (
        <Alert variant="default" title="Cancelled" role="region" aria-label="Cancelled">
          <Text size="sm">{cancelledWords(run)}</Text>
        </Alert>
      )}
      {error !== null && run.status !== 'CANCELLED' && (
        <Alert color="red" variant="default" title="Why it failed" role="region" aria-label="Why it failed">
          <Text size="sm" className="wrap-anywhere mono">
            {error}
          </Text>
          <HiddenNote text={error} />
        </Alert>
      )}
      {error === null && reason !== null && !waits(run.status) && run.status !== 'CANCELLED' && (
        <Alert variant="default" title="Why" role="region" aria-label="Why">
          {reason}
        </Alert>
      )}
      {progress !== null && (
        <Group gap="sm" wrap="nowrap">
          <Progress value={progress.percent} w={240} aria-label="Progress" />
          <Text size="sm">
            {percent(progress.percent)}
            {progress.message === null ? '' : ` · ${progress.message}`}
          </Text>
        </Group>
      )}
      {trigger === 'manual' && origin === null && (
        <Text size="sm">
          Run by hand{who === null ? '' : ` by ${who}`}
          {asked === null ? '.' : `: ${asked}`}
        </Text>
      )}
      {asked !== null && origin !== null && <Text size="sm">Asked for: {asked}</Text>}
      {late !== null && (
        <Text size="sm" c="dimmed">
          A later report was refused, because the run had ended or was given to another worker: {late}
        </Text>
      )}
    </>
  );
}

function cancelledWords({ status, started_at: started, cancelled_by: by }: RunWithAttempts): string {
  if (status === 'CANCELLING') return `Asked to stop${by === null ? '' : ` by ${by}`}; it has not ended yet.`;
  const when = started === null ? 'before it had started' : 'while it was running';
  return `Cancelled${by === null ? '' : ` by ${by}`}, ${when}.`;
}
