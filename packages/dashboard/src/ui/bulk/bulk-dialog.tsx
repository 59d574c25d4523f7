/**
 * One action on many jobs, runs or dead letters: first counts them and names ten, asks, then works through them with a bar and a Stop. More than a
 * hundred are only changed after their number was typed.
 */

import { Button, Group, List, Modal, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { queryKeys } from '../../api/query-keys.ts';
import type { Action } from '../../api/session.ts';
import { releaseLists } from '../held-items.ts';
import { notify } from '../notify.ts';
import { Problem } from '../problem.tsx';
import {
  type BulkProgress,
  type BulkTarget,
  type PartReport,
  type PartRequest,
  type Reason,
  workThrough,
} from './bulk-work.ts';
import { Names } from './names.tsx';

/** More than so many must be typed. */
const TYPED_FROM = 100;

export interface BulkAction<Filter> {
  readonly key: string;
  readonly needs: Action;
  /** Such as Pause. */
  readonly verb: string;
  /** Such as paused. */
  readonly done: string;
  /** What happens to them, in a sentence or two. */
  readonly effect: string;
  readonly danger?: boolean;
  /** The key is the same for all parts of one dialog. */
  readonly send: (request: PartRequest<Filter>, idempotencyKey: string) => Promise<PartReport>;
  /** Undefined: it cannot be undone. */
  readonly undo?: ((changedIds: readonly string[]) => (() => Promise<unknown>) | undefined) | undefined;
}

interface BulkDialogProps<Filter> {
  readonly action: BulkAction<Filter>;
  readonly target: BulkTarget<Filter>;
  readonly noun: Noun;
  readonly nameOf: (id: string) => Promise<string>;
  readonly idempotencyKey: string;
  readonly onClose: (changed: boolean) => void;
}

export type Noun = 'job' | 'run' | 'dead letter';

type Step = 'counting' | 'asking' | 'working' | 'done';

export function BulkDialog<Filter>(props: BulkDialogProps<Filter>) {
  const { action, target, noun, nameOf, idempotencyKey, onClose } = props;
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
      const send = (request: PartRequest<Filter>) => action.send(request, idempotencyKey);
      for await (last of workThrough(send, { target, dryRun, signal })) show(last);
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
      setNames(await Promise.all(all.firstIds.map(nameOf)));
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
    for (const about of ['jobs', 'runs', 'dead', 'stats'] as const)
      await queries.invalidateQueries({ queryKey: queryKeys.all(about) });
    releaseLists();
    if (!result?.finished || result.refused > (counted?.refused ?? 0)) return;
    notify({ message: `${result.changed} ${action.done}.`, undo: action.undo?.(result.changedIds) });
    onClose(true);
  };

  const total = counted?.matched ?? 0;
  const count = total - (counted?.refused ?? 0);
  const needsTyping = count > TYPED_FROM;
  const isReady = count > 0 && (!needsTyping || typed === String(count));
  const title = `${action.verb} ${count} ${count === 1 ? noun : `${noun}s`}`;
  return (
    <Modal
      opened
      onClose={() => onClose(worked !== undefined)}
      closeOnClickOutside={step !== 'working'}
      centered
      title={step === 'counting' ? `${action.verb}: counting the ${noun}s` : title}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (step === 'asking' && isReady) void work();
        }}
      >
        <Stack gap="sm">
          {step === 'counting' && <Text size="sm">{total} so far …</Text>}
          {step === 'asking' && count === 0 && (
            <Text size="sm">None of them can be {action.done}: they have ended, or already are.</Text>
          )}
          {step === 'asking' && count > 0 && (
            <>
              <Text size="sm">{action.effect}</Text>
              <Names names={names} count={count} />
              {counted?.finished === false && (
                <Text size="sm">Counting was stopped: there may be more of them.</Text>
              )}
              <Refused reasons={counted?.reasons ?? []} />
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
                value={total === 0 ? 0 : (100 * (worked?.matched ?? 0)) / total}
                aria-label={`${worked?.matched ?? 0} of ${total}`}
              />
              <Text size="sm" role="status">
                {worked?.changed ?? 0} of {count} {action.done}
                {worked && worked.unchanged > 0 ? `, ${worked.unchanged} already were` : ''}.
                {step === 'done' && worked?.finished === false
                  ? ` Stopped after ${worked.matched}; what was done stays done.`
                  : ''}
              </Text>
              <Refused reasons={worked?.reasons ?? []} />
            </>
          )}
          {error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            {(step === 'counting' || step === 'working') && error === undefined ? (
              <Button variant="default" onClick={() => stop.current.abort()}>
                Stop
              </Button>
            ) : (
              <Button variant="default" onClick={() => onClose(worked !== undefined)}>
                {step === 'asking' ? 'Back' : 'Close'}
              </Button>
            )}
            {step === 'asking' && count > 0 && (
              <Button type="submit" disabled={!isReady} color={action.danger ? 'red.9' : undefined}>
                {action.verb} {count}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

const REFUSED_BECAUSE: Readonly<Record<string, string>> = {
  run_already_finished: 'have ended already',
  run_not_finished: 'have not ended yet',
  run_not_found: 'are not there any more',
  job_already_finished: 'have ended already',
  job_cancelled: 'were cancelled',
  job_not_found: 'are not there any more',
  dead_letter_not_found: 'are not there any more',
  forbidden: 'are not yours to change',
};

function Refused({ reasons }: { reasons: readonly Reason[] }) {
  if (reasons.length === 0) return null;
  return (
    <Text size="sm" component="div" c="dimmed">
      Left as they are:
      <List size="sm">
        {reasons.map(({ code, message, count }) => (
          <List.Item key={code} className="wrap-anywhere">
            {count} {REFUSED_BECAUSE[code] ?? `× ${message}`}
          </List.Item>
        ))}
      </List>
    </Text>
  );
}
