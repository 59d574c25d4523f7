/**
 * One action on many jobs: first counts them and names ten, asks, then works through them with a bar and a Stop. More than a
 * hundred are only changed after their number was typed.
 */
import { Button, Group, List, Modal, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';
import { type BulkAction, type BulkProgress, type BulkTarget, workThrough } from './bulk-work.ts';

/** More than so many must be typed. */
const TYPED_FROM = 100;
/** What is sent back in one undo. */
const UNDONE_MAX = 1_000;

const WORDS: Record<BulkAction, { verb: string; done: string; effect: string }> = {
  pause: { verb: 'Pause', done: 'paused', effect: 'They start no runs until they are resumed.' },
  resume: { verb: 'Resume', done: 'resumed', effect: 'They run by their schedules again.' },
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    effect: 'Runs that wait are dropped, runs that have started are asked to stop. This cannot be undone.',
  },
};

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly target: BulkTarget;
  /** Names that the page already knows. */
  readonly nameOf: (jobId: string) => string | undefined;
  readonly onClose: () => void;
}

type Step = 'counting' | 'asking' | 'working' | 'done';

export function BulkDialog({ action, target, nameOf, onClose }: BulkDialogProps) {
  const words = WORDS[action];
  const queries = useQueryClient();
  const [step, setStep] = useState<Step>('counting');
  const [counted, setCounted] = useState<BulkProgress>();
  const [worked, setWorked] = useState<BulkProgress>();
  const [names, setNames] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>();
  const [typed, setTyped] = useState('');
  const stop = useRef(new AbortController());

  const run = async (dryRun: boolean, show: (progress: BulkProgress) => void) => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    let last: BulkProgress | undefined;
    try {
      const parts = workThrough((request) => carillon.jobs.bulk(request), { action, target, dryRun, signal });
      for await (last of parts) show(last);
    } catch (problem) {
      setError(problem);
    }
    return last;
  };
  // Counts once, when the dialog opens.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the target of an open dialog does not change.
  useEffect(() => {
    let isOpen = true;
    void run(true, (progress) => isOpen && setCounted(progress)).then(async (all) => {
      if (!isOpen || !all) return;
      setStep('asking');
      setNames(await Promise.all(all.firstIds.map(async (id) => nameOf(id) ?? (await readName(id)))));
    });
    return () => {
      isOpen = false;
      stop.current.abort();
    };
  }, []);

  const work = async () => {
    setStep('working');
    const result = await run(false, setWorked);
    setStep('done');
    await queries.invalidateQueries({ queryKey: ['jobs'] });
    if (!result?.finished || result.refused > 0) return;
    notify({ message: `${result.changed} ${words.done}.`, undo: undoOf(action, result.changedIds) });
    onClose();
  };

  const count = counted?.matched ?? 0;
  const needsTyping = count > TYPED_FROM;
  const isReady = count > 0 && (!needsTyping || typed === String(count));
  const progress = step === 'counting' ? counted : worked;
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={step !== 'working'}
      centered
      title={
        step === 'counting'
          ? `${words.verb}: counting the jobs`
          : `${words.verb} ${count} ${count === 1 ? 'job' : 'jobs'}`
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (step === 'asking' && isReady) void work();
        }}
      >
        <Stack gap="sm">
          {step === 'counting' && <Text size="sm">{count} so far …</Text>}
          {step === 'asking' && count === 0 && (
            <Text size="sm">None of them can be {words.done}: they have ended, or already are.</Text>
          )}
          {step === 'asking' && count > 0 && (
            <>
              <Text size="sm">{words.effect}</Text>
              <List size="sm" aria-label="The first of them" className="wrap-anywhere">
                {names.map((name, i) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: names may repeat, and the list does not change.
                  <List.Item key={i}>{name}</List.Item>
                ))}
              </List>
              {count > names.length && names.length > 0 && (
                <Text size="sm" c="dimmed">
                  and {count - names.length} more
                </Text>
              )}
              {counted?.finished === false && (
                <Text size="sm">Counting was stopped: there may be more of them.</Text>
              )}
              {needsTyping && (
                <TextInput
                  data-autofocus
                  label={`Type ${count} to confirm`}
                  value={typed}
                  onChange={({ currentTarget }) => setTyped(currentTarget.value)}
                />
              )}
            </>
          )}
          {(step === 'working' || step === 'done') && (
            <>
              <Progress
                value={count === 0 ? 0 : (100 * (progress?.matched ?? 0)) / count}
                aria-label={`${progress?.matched ?? 0} of ${count}`}
              />
              <Text size="sm" role="status">
                {progress?.matched ?? 0} of {count}: {progress?.changed ?? 0} {words.done},{' '}
                {progress?.unchanged ?? 0} already were, {progress?.refused ?? 0} refused
                {step === 'done' && progress?.finished === false
                  ? '. Stopped; what was done stays done.'
                  : ''}
              </Text>
              {progress?.reasons.map((reason) => (
                <Text key={reason} size="sm" c="dimmed" className="wrap-anywhere">
                  {reason}
                </Text>
              ))}
            </>
          )}
          {error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            {(step === 'counting' || step === 'working') && error === undefined ? (
              <Button variant="default" onClick={() => stop.current.abort()}>
                Stop
              </Button>
            ) : (
              <Button variant="default" onClick={onClose}>
                {step === 'asking' ? 'Back' : 'Close'}
              </Button>
            )}
            {step === 'asking' && count > 0 && (
              <Button type="submit" disabled={!isReady} color={action === 'cancel' ? 'red.8' : undefined}>
                {words.verb} {count}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

async function readName(jobId: string): Promise<string> {
  try {
    return (await carillon.jobs.get(jobId)).name;
  } catch {
    // Gone meanwhile: its id still says which one it was.
    return jobId;
  }
}

function undoOf(action: BulkAction, ids: readonly string[]): (() => Promise<unknown>) | undefined {
  if (action === 'cancel' || ids.length === 0 || ids.length > UNDONE_MAX) return undefined;
  return () => carillon.jobs.bulk({ action: action === 'pause' ? 'resume' : 'pause', job_ids: ids });
}
