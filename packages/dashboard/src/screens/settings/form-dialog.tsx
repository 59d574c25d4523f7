/** A button that opens a short form; what the server refuses is shown in it, and nothing typed is lost. */
import { Button, Group, Modal, Stack, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import type { Permission } from '../../api/session.ts';
import { FormErrors } from '../../ui/form-errors.tsx';
import { releaseLists } from '../../ui/held-items.ts';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';

export interface FormDialogProps {
  readonly label: string;
  readonly title: string;
  readonly submitLabel?: string;
  readonly permission?: Permission | undefined;
  readonly size?: 'compact-sm' | 'compact-xs';
  readonly children: ReactNode;
  /** Answers what to say; undefined: nothing, and the dialog stays open, because it shows something. */
  readonly onSubmit: () => Promise<string | undefined>;
  readonly onClose?: () => void;
  /** Open from the start, as an address may ask for. */
  readonly startsOpen?: boolean;
  /** Nothing can be sent any more: only closed. */
  readonly done?: boolean;
}

export function FormDialog(props: FormDialogProps) {
  const {
    label,
    title,
    submitLabel = label,
    permission,
    size = 'compact-sm',
    children,
    onSubmit,
    onClose,
    startsOpen = false,
    done = false,
  } = props;
  const why = permission?.why;
  const [opened, setOpened] = useState(false);
  // The address may change while the dialog's button is already there.
  useEffect(() => {
    if (startsOpen && why === undefined) setOpened(true);
  }, [startsOpen, why]);
  const close = () => {
    setOpened(false);
    task.reset();
    onClose?.();
  };
  const task = useMutation({
    mutationFn: onSubmit,
    onSuccess: (said) => {
      releaseLists();
      if (said === undefined) return;
      notify({ message: said });
      close();
    },
  });
  return (
    <>
      <Tooltip label={why} disabled={why === undefined}>
        <Button
          size={size}
          variant="default"
          aria-disabled={why !== undefined}
          data-disabled={why !== undefined || undefined}
          onClick={() => why === undefined && setOpened(true)}
        >
          {label}
        </Button>
      </Tooltip>
      <Modal opened={opened} onClose={close} title={title} centered size="lg">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!task.isPending && !done) task.mutate();
          }}
        >
          <FormErrors error={task.error}>
            {(rest) => (
              <Stack>
                {children}
                {rest !== undefined && rest !== null && <Problem error={rest} />}
                <Group justify="flex-end">
                  <Button variant="default" onClick={close}>
                    {done ? 'Close' : 'Back'}
                  </Button>
                  {!done && (
                    <Button type="submit" loading={task.isPending}>
                      {submitLabel}
                    </Button>
                  )}
                </Group>
              </Stack>
            )}
          </FormErrors>
        </form>
      </Modal>
    </>
  );
}
