/** The attempts of a run on one line of time: when each was due, started and ended, and who ran it. */
import type { Run, RunWithAttempts } from '@carillon/client';
import { Table, Text } from '@mantine/core';
import { withHiddenNote } from '../../ui/hidden-note.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { useNow } from '../../ui/now.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import { bytes, duration } from '../../ui/time.ts';
import { WorkerLink } from '../../ui/worker-link.tsx';
import classes from './attempts.module.css';

export function Attempts({ run }: { run: RunWithAttempts }) {
  const now = useNow();
  const attempts = run.attempts.length === 0 ? [run] : [...run.attempts].sort((a, b) => a.epoch - b.epoch);
  const from = Math.min(
    ...attempts.map((attempt) => Date.parse(attempt.started_at ?? attempt.scheduled_at)),
    Date.parse(run.scheduled_at),
  );
  const to = Math.max(...attempts.map((attempt) => endOf(attempt, now)), from + 1);
  return (
    <Table.ScrollContainer minWidth={930}>
      <Table verticalSpacing={6} aria-label="Attempts">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={80}>Attempt</Table.Th>
            <Table.Th w={300}>State</Table.Th>
            <Table.Th w={120}>Started</Table.Th>
            <Table.Th w={90}>Took</Table.Th>
            <Table.Th>From its instant to the end</Table.Th>
            <Table.Th w={130}>Worker</Table.Th>
            <Table.Th w={130}>Used</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((attempt, index) => (
            <Table.Tr key={`${attempt.epoch} ${attempt.attempt_number}`}>
              <Table.Td>
                {attempt.attempt_number}
                {repeats(attempts, index) && <Text span size="xs" c="dimmed">{` (again)`}</Text>}
              </Table.Td>
              <Table.Td>
                <StateBadge state={attempt.status} triedAgain={index < attempts.length - 1} />
                <Cause attempt={attempt} />
              </Table.Td>
              <Table.Td>
                <Instant at={attempt.started_at} />
              </Table.Td>
              <Table.Td>
                <Took from={attempt.started_at} to={attempt.ended_at} />
              </Table.Td>
              <Table.Td>
                <Bar attempt={attempt} from={from} to={to} now={now} />
              </Table.Td>
              <Table.Td>
                <WorkerLink workerId={attempt.worker_id} />
              </Table.Td>
              <Table.Td>
                <Text size="xs">
                  {[
                    attempt.peak_memory_bytes === null ? undefined : bytes(attempt.peak_memory_bytes),
                    attempt.cpu_seconds === null ? undefined : `${attempt.cpu_seconds.toFixed(2)} s CPU`,
                  ]
                    .filter(Boolean)
                    .join(', ') || '–'}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Cause({ attempt }: { attempt: Run }) {
  const text = attempt.error_message ?? attempt.reason ?? INTERRUPTED[attempt.status];
  if (text === undefined || text === null) return null;
  return (
    <Text size="xs" c="dimmed" lineClamp={3} className="wrap-anywhere" title={withHiddenNote(text)}>
      {text.split('\n', 1)[0]}
    </Text>
  );
}

const INTERRUPTED: Partial<Record<Run['status'], string>> = {
  LOST: 'Its worker was not heard from any more.',
  RETURNED: 'Its worker gave it back before the end.',
};

/** An interrupted attempt does not count: the next one has its number. */
function repeats(attempts: readonly Run[], index: number): boolean {
  return attempts[index - 1]?.attempt_number === attempts[index]?.attempt_number;
}

function endOf(attempt: Run, now: number): number {
  if (attempt.ended_at !== null) return Date.parse(attempt.ended_at);
  return attempt.started_at === null ? Date.parse(attempt.scheduled_at) : now;
}

function Bar({ attempt, from, to, now }: { attempt: Run; from: number; to: number; now: number }) {
  if (attempt.started_at === null) return <span className="muted">not started</span>;
  const at = (ms: number) => (100 * (ms - from)) / (to - from);
  const left = at(Date.parse(attempt.started_at));
  const width = Math.max(0.5, at(endOf(attempt, now)) - left);
  const { start_delay_ms: delay, attempt_number: number } = attempt;
  return (
    <svg
      width="100%"
      height="14"
      className={classes.line}
      role="img"
      aria-label={delay === null ? `attempt ${number}` : `started ${duration(delay)} after it was due`}
    >
      <rect x="0" y="6" width={`${left}%`} height="2" className={classes.waited} />
      <rect
        x={`${left}%`}
        y="1"
        width={`${width}%`}
        height="12"
        rx="2"
        className={classes[attempt.status] ?? classes.other}
      />
    </svg>
  );
}
