/** The attempts of a run on one line of time: when each was due, started and ended, and who ran it. */
import type { Run, RunWithAttempts } from '@carillon/client';
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { withHiddenNote } from '../../ui/hidden-note.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { useNow } from '../../ui/now.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import { bytes } from '../../ui/time.ts';
import { WorkerLink } from '../../ui/worker-link.tsx';
import { AttemptBar } from './attempt-bar.tsx';
import { attemptName, searchFor } from './chosen-attempt.ts';

interface AttemptsProps {
  readonly run: RunWithAttempts;
  /** The one that the address names. */
  readonly chosen: Run | undefined;
}

export function Attempts({ run, chosen }: AttemptsProps) {
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
            <Table.Th>Timeline</Table.Th>
            <Table.Th w={130}>Worker</Table.Th>
            <Table.Th w={130}>Used</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((attempt, index) => (
            <Table.Tr
              key={`${attempt.epoch} ${attempt.attempt_number}`}
              aria-current={attempt === chosen || undefined}
              bg={attempt === chosen ? 'var(--mantine-color-default-hover)' : undefined}
            >
              <Table.Td>
                <Anchor
                  component={Link}
                  to="."
                  search={((before: object) => ({ ...before, ...searchFor(attempts, attempt) })) as never}
                  replace
                  aria-label={`Attempt ${attemptName(attempts, attempt)}: details and log`}
                >
                  {attemptName(attempts, attempt)}
                </Anchor>
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
                <AttemptBar
                  {...{ attempt, from, to, now, checkpoint: run.checkpoint }}
                  after={msOf(attempts[index - 1]?.ended_at)}
                />
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

function msOf(at: string | null | undefined): number | undefined {
  return at === null || at === undefined ? undefined : Date.parse(at);
}

function endOf(attempt: Run, now: number): number {
  if (attempt.ended_at !== null) return Date.parse(attempt.ended_at);
  return attempt.started_at === null ? Date.parse(attempt.scheduled_at) : now;
}
