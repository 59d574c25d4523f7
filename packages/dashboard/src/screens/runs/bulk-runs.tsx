/** Cancels the ticked runs, or runs them again: says first what would happen, goes on in parts, tells how far it is, and can be stopped. */
import type { BulkRunsReport, ListedRun } from '@carillon/client';
import { Button, Group, List, Modal, Progress, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { usePermission } from '../../api/session.ts';
import { releaseLists } from '../../ui/held-items.ts';
import { Problem } from '../../ui/problem.tsx';
import { randomKey } from '../../ui/random-key.ts';

const PART = 100;
/** From here on the number is typed. */
const TYPED_FROM = 100;
const NAMES_MAX = 10;

type Action = 'cancel' | 'rerun';

const WORDS = {
  cancel: {
    label: 'Cancel',
    title: 'Cancel the ticked runs?',
    effect: 'They are stopped and not tried again. What they have done so far stays done.',
    done: 'cancelled or asked to stop',
  },
  rerun: {
    label: 'Run again',
    title: 'Run the ticked runs again?',
    effect: 'Each becomes a new run of its job, with the same input.',
    done: 'run again',
  },
} as const;

interface Props {
  readonly runs: readonly ListedRun[];
  readonly namespace: string | undefined;
  readonly onDone: () => void;
}

export function BulkRuns({ runs, namespace, onDone }: Props) {
  const [action, setAction] = useState<Action>();
  return (
    <Group gap="xs" role="group" aria-label="What to do with ticked runs">
      <Text size="sm" fw={600}>
        {runs.length} ticked
      </Text>
      <Opener action="cancel" namespace={namespace} onOpen={setAction} />
      <Opener action="rerun" namespace={namespace} onOpen={setAction} />
      <Button size="compact-sm" variant="subtle" onClick={onDone}>
        Untick all
      </Button>
      {action !== undefined && (
        <BulkDialog
          action={action}
          runs={runs}
          onClose={(changed) => {
            setAction(undefined);
            if (changed) onDone();
          }}
        />
      )}
    </Group>
  );
}

function Opener({
  action,
  namespace,
  onOpen,
}: {
  action: Action;
  namespace: string | undefined;
  onOpen: (action: Action) => void;
}) {
  const { why } = usePermission(`runs.${action}`, { namespace });
  return (
    <Tooltip label={why} disabled={why === undefined} events={{ hover: true, focus: true, touch: true }}>
      <Button
        size="compact-sm"
        variant="default"
        aria-disabled={why !== undefined}
        data-disabled={why !== undefined || undefined}
        onClick={() => why === undefined && onOpen(action)}
      >
        {WORDS[action].label} …
      </Button>
    </Tooltip>
  );
}

interface Sum {
  readonly looked: number;
  readonly changed: number;
  readonly refused: number;
  readonly unchanged: number;
  readonly why: ReadonlyMap<string, number>;
}

const NOTHING: Sum = { looked: 0, changed: 0, refused: 0, unchanged: 0, why: new Map() };

function add(sum: Sum, looked: number, report: BulkRunsReport): Sum {
  const why = new Map(sum.why);
  for (const { error } of report.results)
    if (error !== null) why.set(error.message, (why.get(error.message) ?? 0) + 1);
  return {
    looked: sum.looked + looked,
    changed: sum.changed + report.changed,
    refused: sum.refused + report.refused,
    unchanged: sum.unchanged + report.unchanged,
    why,
  };
}

/** Part by part, so that its progress is seen and it can be stopped between two. */
async function inParts(
  ids: readonly string[],
  { action, dryRun, key }: { action: Action; dryRun: boolean; key: string },
  onPart: (sum: Sum) => boolean,
): Promise<void> {
  let sum = NOTHING;
  for (let from = 0; from < ids.length; from += PART) {
    const part = ids.slice(from, from + PART);
    const report = await carillon.runs.bulk(
      { action, run_ids: part, dry_run: dryRun },
      { idempotencyKey: `${key}-${from}` },
    );
    sum = add(sum, part.length, report);
    if (!onPart(sum)) return;
  }
}

function useBulk(action: Action, ids: readonly string[]) {
  const queries = useQueryClient();
  const [key] = useState(randomKey);
  const [preview, setPreview] = useState<Sum>();
  const [done, setDone] = useState<Sum>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const stopped = useRef(false);
  const began = useRef(false);
  const work = async (dryRun: boolean) => {
    setBusy(true);
    setError(undefined);
    try {
      await inParts(ids, { action, dryRun, key: dryRun ? `${key}-dry` : key }, (sum) => {
        (dryRun ? setPreview : setDone)(sum);
        return !stopped.current;
      });
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
    if (dryRun) return;
    await queries.invalidateQueries({ queryKey: ['runs'] });
    await queries.invalidateQueries({ queryKey: ['jobs'] });
    releaseLists();
  };
  if (!began.current) {
    began.current = true;
    void Promise.resolve().then(() => work(true));
  }
  const stop = () => {
    stopped.current = true;
  };
  return { preview, done, busy, error, stop, start: () => void work(false) };
}

function BulkDialog({
  action,
  runs,
  onClose,
}: {
  action: Action;
  runs: readonly ListedRun[];
  onClose: (changed: boolean) => void;
}) {
  const [ids] = useState(() => runs.map(({ run_id: id }) => id));
  const { preview, done, busy, error, stop, start } = useBulk(action, ids);
  const [typed, setTyped] = useState('');
  const words = WORDS[action];
  const possible = preview && ids.length - preview.refused;
  const mustType = ids.length > TYPED_FROM && done === undefined;
  return (
    <Modal
      opened
      onClose={() => !(busy && preview) && onClose(done !== undefined)}
      title={words.title}
      centered
    >
      <Stack>
        {possible !== undefined && !done && (
          <>
            <Text size="sm">
              {possible} of {ids.length} can be. {words.effect}
            </Text>
            <Names runs={runs} />
          </>
        )}
        {preview === undefined && error === undefined && (
          <Text size="sm">Looking at what would happen …</Text>
        )}
        {done && (
          <>
            <Progress value={(100 * done.looked) / ids.length} aria-label="Progress" />
            <Text size="sm" role="status">
              {done.changed} of {ids.length} {words.done}
              {done.unchanged > 0 ? `, ${done.unchanged} were so before` : ''}.
              {!busy && done.looked < ids.length ? ` Stopped after ${done.looked}.` : ''}
            </Text>
          </>
        )}
        <Refused why={(done ?? preview)?.why} />
        {mustType && preview && (
          <TextInput
            label={`Type ${ids.length} to confirm`}
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        )}
        {error !== undefined && <Problem error={error} />}
        <Group justify="flex-end">
          {busy && done ? (
            <Button variant="default" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button variant="default" onClick={() => onClose(done !== undefined)}>
              {done ? 'Close' : 'Back'}
            </Button>
          )}
          {!done && (
            <Button
              color={action === 'cancel' ? 'red.8' : undefined}
              loading={busy}
              disabled={!possible || (mustType && typed !== String(ids.length))}
              onClick={start}
            >
              {words.label} {possible ?? ''}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function Names({ runs }: { runs: readonly ListedRun[] }) {
  const names = [...new Set(runs.map(({ job_name: name, job_id: id }) => name ?? id))];
  return (
    <List size="sm" className="wrap-anywhere">
      {names.slice(0, NAMES_MAX).map((name) => (
        <List.Item key={name}>{name}</List.Item>
      ))}
      {names.length > NAMES_MAX && <List.Item>and {names.length - NAMES_MAX} more jobs</List.Item>}
    </List>
  );
}

function Refused({ why }: { why: ReadonlyMap<string, number> | undefined }) {
  if (why === undefined || why.size === 0) return null;
  return (
    <Text size="sm" component="div" c="dimmed">
      Left as they are:
      <List size="sm">
        {[...why].slice(0, NAMES_MAX).map(([message, times]) => (
          <List.Item key={message} className="wrap-anywhere">
            {times > 1 ? `${times} × ` : ''}
            {message}
          </List.Item>
        ))}
      </List>
    </Text>
  );
}
