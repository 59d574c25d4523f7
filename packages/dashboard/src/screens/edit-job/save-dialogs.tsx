/** Asked before a job is changed: what will be different; and, when somebody else changed it meanwhile, what they and what you did. */
import type { Job } from '@carillon/client';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { Problem } from '../../ui/problem.tsx';
import { ChangesTable } from './changes-table.tsx';
import { useFiresChange } from './fires-change.ts';
import { type Body, bodyOfJob, changesOf, conflictsOf } from './job-body.ts';

interface SaveDialogProps {
  readonly job: Job;
  readonly before: Body;
  readonly after: Body;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onClose: () => void;
  readonly onSave: () => void;
}

export function SaveDialog({ job, before, after, busy, error, onClose, onSave }: SaveDialogProps) {
  const changes = changesOf(before, after);
  const fires = useFiresChange(job, before, after);
  return (
    <Modal opened onClose={onClose} title="Save these changes?" size="lg" centered>
      <Stack gap="md">
        <ChangesTable
          label="Changes"
          isDifference
          columns={['Before', 'After']}
          rows={[
            ...changes.map(({ field, before: was, after: is }) => ({ field, values: [was, is] })),
            ...(fires ? [fires] : []),
          ]}
        />
        {error !== null && error !== undefined && <Problem error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Back
          </Button>
          <Button loading={busy} onClick={onSave} data-autofocus>
            Save
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

const WHO = { them: 'them', you: 'you', alike: 'both alike', both: 'both' } as const;

interface ConflictDialogProps {
  readonly base: Body;
  readonly yours: Body;
  readonly theirs: Job;
  readonly onClose: () => void;
  /** Your changes on top of theirs. */
  readonly onMerge: () => void;
  /** Theirs alone. */
  readonly onDiscard: () => void;
}

export function ConflictDialog({ base, yours, theirs, onClose, onMerge, onDiscard }: ConflictDialogProps) {
  const rows = conflictsOf(base, bodyOfJob(theirs), yours);
  const contested = rows.filter(({ by }) => by === 'both');
  const kept = rows.filter(({ by }) => by !== 'both');
  return (
    <Modal opened onClose={onClose} title="Somebody changed this job meanwhile" size="xl" centered>
      <Stack gap="md">
        <Text size="sm">
          Nothing was saved, and what you typed is still there. It has version {theirs.version} now.
        </Text>
        {contested.length > 0 && (
          <>
            <Text size="sm">Both of you changed these: one of the two can stay.</Text>
            <ChangesTable
              label="Theirs and yours"
              columns={['Theirs', 'Yours']}
              rows={contested.map(({ field, theirs: them, yours: you }) => ({ field, values: [them, you] }))}
            />
          </>
        )}
        {kept.length > 0 && (
          <>
            <Text size="sm">
              {contested.length > 0 ? 'These' : 'You changed different fields. All of them'} stay when yours
              is put on top of theirs:
            </Text>
            <ChangesTable
              label="Changes that stay"
              isDifference
              columns={['Before', 'After']}
              rows={kept.map(({ field, before, theirs: them, yours: you, by }) => ({
                field,
                values: [before, by === 'you' ? you : them],
                mark: `changed by ${WHO[by]}, kept`,
              }))}
            />
          </>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Back to the form
          </Button>
          <Button variant="default" onClick={onDiscard}>
            Drop mine
          </Button>
          <Button onClick={onMerge}>Put mine on top of theirs</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
