/** One attempt, as the address names it: its instants, who ran it, and how it ended, in full. */
import type { Run } from '@carillon/client';
import { Button, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Card } from '../../ui/card.tsx';
import { HiddenNote } from '../../ui/hidden-note.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { WorkerLink } from '../../ui/worker-link.tsx';
import { attemptName } from './chosen-attempt.ts';

interface AttemptDetailsProps {
  readonly attempt: Run;
  readonly attempts: readonly Run[];
  readonly onAll: () => void;
}

export function AttemptDetails({ attempt, attempts, onAll }: AttemptDetailsProps) {
  const { epoch, worker_id: worker, error_message: error, reason, late_report: late } = attempt;
  return (
    <Card
      title={`Attempt ${attemptName(attempts, attempt)}`}
      actions={
        <Button size="compact-xs" variant="default" onClick={onAll}>
          All attempts
        </Button>
      }
    >
      <Table
        variant="vertical"
        layout="fixed"
        withRowBorders={false}
        verticalSpacing={4}
        aria-label="Attempt"
      >
        <Table.Tbody>
          <Row name="State">
            <StateBadge state={attempt.status} />
          </Row>
          <Row name="Due">
            <Instant at={attempt.scheduled_at} kind="exact" />
          </Row>
          <Row name="Handed out">{worker !== null && <Instant at={attempt.created_at} kind="exact" />}</Row>
          <Row name="Started">
            <Instant at={attempt.started_at} kind="exact" />
          </Row>
          <Row name="Ended">
            <Instant at={attempt.ended_at} kind="exact" />
          </Row>
          <Row name="Took">
            <Took from={attempt.started_at} to={attempt.ended_at} />
          </Row>
          <Row name="Worker">{worker !== null && <WorkerLink workerId={worker} />}</Row>
          <Row name="Epoch">{String(epoch)}</Row>
          <Row name="Why">{reason}</Row>
          <Row name="Error">
            {error !== null && (
              <>
                <Text size="sm" className="wrap-anywhere mono" style={{ whiteSpace: 'pre-wrap' }}>
                  {error}
                </Text>
                <HiddenNote text={error} />
              </>
            )}
          </Row>
          <Row name="Refused report">{late}</Row>
        </Table.Tbody>
      </Table>
    </Card>
  );
}

/** Left out where there is nothing to tell. */
function Row({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === false) return null;
  return (
    <Table.Tr>
      <Table.Th w={110} fw={500}>
        {name}
      </Table.Th>
      <Table.Td className="wrap-anywhere">{children}</Table.Td>
    </Table.Tr>
  );
}
