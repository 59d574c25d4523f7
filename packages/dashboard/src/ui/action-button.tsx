/**
 * A button for something that a role allows: disabled with the reason where it is not allowed, busy while it is under way (a second
 * click does nothing), and asked first where it cannot be undone.
 */
import { Button, type ButtonProps, Group, Modal, Stack, Text, TextInput, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type Action, usePermission } from '../api/session.ts';
import { releaseLists } from './held-items.ts';
import { type Notice, notify } from './notify.ts';
import { Problem } from './problem.tsx';
import { randomKey } from './random-key.ts';

interface Confirmation {
  readonly title: string;
  /** What will happen, in a sentence. */
  readonly effect: ReactNode;
  /** Must be typed first, where very much is lost. */
  readonly type?: string | undefined;
  readonly confirmLabel?: string | undefined;
}

interface ActionButtonProps extends Pick<ButtonProps, 'size' | 'variant' | 'color' | 'leftSection'> {
  readonly label: string;
  readonly action: Action;
  readonly namespace?: string | undefined;
  readonly userId?: string | null | undefined;
  readonly confirm?: Confirmation | undefined;
  /** Why it makes no sense now. */
  readonly disabledBecause?: string | undefined;
  /** What it does, in a sentence, where the label does not say all of it and nothing is asked. */
  readonly hint?: string | undefined;
  /** In a row that this takes out of its list: nothing moves while the pointer is there. */
  readonly keepsRow?: boolean | undefined;
  /** Answers what to say when it is done; nothing is said where it answers undefined. The key is the same for every try of one click. */
  readonly run: (idempotencyKey: string) => Promise<string | Omit<Notice, 'id'> | undefined>;
}

export function ActionButton(props: ActionButtonProps) {
  const { label, action, namespace, userId, confirm, disabledBecause, hint, keepsRow, run, ...look } = props;
  const permission = usePermission(action, { namespace, userId });
  const [asking, setAsking] = useState(false);
  const task = useMutation({
    mutationFn: run,
    onSuccess: (said) => {
      if (!keepsRow) releaseLists();
      setAsking(false);
      if (said !== undefined) notify(typeof said === 'string' ? { message: said } : said);
    },
    onError: (error) => {
      if (!confirm) notify({ error });
    },
  });
  // Known at once, unlike isPending, and kept for as long as a double click takes: the same button may belong to the next run then.
  const locked = useRef(false);
  const start = () => {
    if (locked.current) return;
    locked.current = true;
    const unlock = () => {
      locked.current = false;
    };
    task.mutate(randomKey(), { onSettled: () => setTimeout(unlock, DOUBLE_CLICK_MS) });
  };
  const reason = permission.why ?? disabledBecause;
  return (
    <>
      <Tooltip
        label={reason ?? hint}
        disabled={reason === undefined && hint === undefined}
        events={{ hover: true, focus: true, touch: true }}
      >
        <Button
          size="compact-sm"
          variant="default"
          {...look}
          aria-disabled={reason !== undefined}
          data-disabled={reason !== undefined || undefined}
          loading={task.isPending && !asking}
          onClick={(event) => {
            // The second click of a double click.
            if (reason !== undefined || event.detail > 1) return;
            if (confirm) setAsking(true);
            else start();
          }}
        >
          {label}
        </Button>
      </Tooltip>
      {confirm && (
        <ConfirmDialog
          {...confirm}
          opened={asking}
          busy={task.isPending}
          error={task.error}
          label={confirm.confirmLabel ?? label}
          onClose={() => {
            setAsking(false);
            task.reset();
          }}
          onConfirm={start}
        />
      )}
    </>
  );
}

const DOUBLE_CLICK_MS = 600;

interface ConfirmDialogProps extends Confirmation {
  readonly opened: boolean;
  readonly busy: boolean;
  readonly error: unknown;
  readonly label: string;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, effect, type, opened, busy, error, label, onClose, onConfirm } = props;
  const [typed, setTyped] = useState('');
  useEffect(() => {
    if (!opened) setTyped('');
  }, [opened]);
  const ready = type === undefined || typed === type;
  return (
    <Modal opened={opened} onClose={onClose} title={title} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !busy) onConfirm();
        }}
      >
        <Stack gap="md">
          <Text size="sm" component="div" className="wrap-anywhere">
            {effect}
          </Text>
          {type !== undefined && (
            <TextInput
              label={`Type ${type} to confirm`}
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
              data-autofocus
            />
          )}
          {error !== null && error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Back
            </Button>
            <Button
              type="submit"
              color="red.9"
              loading={busy}
              disabled={!ready}
              data-autofocus={type === undefined || undefined}
            >
              {label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
