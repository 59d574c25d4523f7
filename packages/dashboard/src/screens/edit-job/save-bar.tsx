/** Saves the job: a new one at once, a change after its difference was shown. A stale save shows theirs and yours, and loses nothing. */

import { CarillonError, type Job, type JobFields, type Json, type NewJob } from '@carillon/client';
import { Button, Group, Text, Tooltip } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { carillon, isSignedOut } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';
import { randomKey } from '../../ui/random-key.ts';
import classes from './edit-job.module.css';
import { type Body, bodyOfJob, rebased, valueAt } from './job-body.ts';
import { namesakesOf } from './namesakes.tsx';
import { ConflictDialog, SaveDialog } from './save-dialogs.tsx';

interface SaveBarProps {
  readonly body: Body;
  readonly base: { readonly body: Body; readonly version: number } | undefined;
  readonly job: Job | undefined;
  readonly patch: JobFields | undefined;
  readonly changed: boolean;
  readonly isReadable: boolean;
  /** Begins again with this body, as that version has it. */
  readonly start: (body: Body, version: number | undefined) => void;
  /** Puts another body and base under what is on the page. */
  readonly rebase: (body: Body, base: { body: Body; version: number }) => void;
  /** Drops the draft; the answered function keeps it again. */
  readonly forget: () => () => void;
  /** Of the last try. */
  readonly refusal: unknown;
  readonly onRefusal: (error: unknown) => void;
  /** Fields that have to be filled in first. */
  readonly onMissing: (errors: readonly unknown[]) => void;
}

const STALE = new Set(['version_mismatch', 'job_changed']);

export function SaveBar(props: SaveBarProps) {
  const { body, base, job, patch, changed, isReadable, start, rebase, forget } = props;
  const { refusal, onRefusal, onMissing } = props;
  const navigate = useNavigate();
  // Of a copy.
  const { from } = useSearch({ strict: false });
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [theirs, setTheirs] = useState<Job>();
  const why = useWhy(body, job);
  // The same definition sent twice makes one job.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another definition gets another key.
  const idempotencyKey = useMemo(() => randomKey(), [JSON.stringify(body)]);

  const save = useMutation({
    mutationFn: async () =>
      job && base
        ? await carillon.jobs.update(job.job_id, patch ?? {}, { ifVersion: base.version })
        : await carillon.jobs.create(body as unknown as NewJob, { idempotencyKey }),
    onSuccess: async ({ job_id: jobId, name }) => {
      forget();
      const others = job ? [] : await namesakesOf(body, { except: jobId }).catch(() => []);
      notify({
        message: `${name ?? 'The job'} was ${job ? 'saved' : 'made'}.${others.length > 0 ? ' There is another job of this name.' : ''}`,
      });
      await queries.invalidateQueries({ queryKey: queryKeys.all('jobs') });
      await navigate({ to: '/jobs/$jobId', params: { jobId } });
    },
    onError: async (error) => {
      if (isSignedOut(error)) return queries.setQueryData(queryKeys.session(), null);
      if (!(error instanceof CarillonError && STALE.has(error.code)) || !job) {
        onRefusal(error);
        // The question stays open: without it, the page would look as after a save.
        if (fieldOf(error) === undefined) return;
        setAsking(false);
        return focusField(error);
      }
      try {
        setTheirs(await carillon.jobs.get(job.job_id));
        setAsking(false);
      } catch (problem) {
        onRefusal(problem);
      }
    },
  });
  const nothing = job !== undefined && !changed;
  const reason =
    why ??
    (isReadable ? undefined : 'What was typed cannot be read yet: its field says why.') ??
    (nothing ? 'Nothing was changed.' : undefined);
  const submit = () => {
    if (reason !== undefined || save.isPending) return;
    onRefusal(undefined);
    const missing = missingIn(body);
    onMissing(missing);
    if (missing[0]) return focusField(missing[0]);
    if (job) setAsking(true);
    else save.mutate();
  };
  const discard = () => {
    const keep = forget();
    if (changed)
      notify({
        message: `The draft of ${job?.name ?? textOf(body.name) ?? 'the job'} was discarded.`,
        undo: async () => {
          keep();
          await (job
            ? navigate({ to: '/jobs/$jobId/edit', params: { jobId: job.job_id } })
            : navigate({ to: '/jobs/new', search: { from } }));
        },
      });
    void (job ? navigate({ to: '/jobs/$jobId', params: { jobId: job.job_id } }) : navigate({ to: '/jobs' }));
  };
  return (
    <Group className={classes.bar} justify="space-between">
      {refusal !== undefined && !asking && (
        <div className={classes.refusal}>
          <Problem error={refusal} />
        </div>
      )}
      <Text size="xs" c="dimmed">
        {changed ? 'Not saved yet; kept in this tab.' : ''}
      </Text>
      <Group gap="sm">
        <Button variant="default" onClick={discard}>
          Discard
        </Button>
        <Tooltip
          label={reason}
          disabled={reason === undefined}
          events={{ hover: true, focus: true, touch: true }}
        >
          <Button
            loading={save.isPending && !asking}
            aria-disabled={reason !== undefined}
            data-disabled={reason !== undefined || undefined}
            onClick={submit}
          >
            {job ? 'Review and save' : 'Create job'}
          </Button>
        </Tooltip>
      </Group>
      {asking && base && job && (
        <SaveDialog
          job={job}
          before={base.body}
          after={body}
          busy={save.isPending}
          error={save.isPending ? undefined : refusal}
          onClose={() => setAsking(false)}
          onSave={() => {
            if (save.isPending) return;
            onRefusal(undefined);
            save.mutate();
          }}
        />
      )}
      {theirs && base && (
        <ConflictDialog
          base={base.body}
          yours={body}
          theirs={theirs}
          onClose={() => setTheirs(undefined)}
          onMerge={() => {
            const now = bodyOfJob(theirs);
            rebase(rebased(base.body, now, body), { body: now, version: theirs.version });
            setTheirs(undefined);
          }}
          onDiscard={() => {
            start(bodyOfJob(theirs), theirs.version);
            setTheirs(undefined);
          }}
        />
      )}
    </Group>
  );
}

/** Which role is missing; undefined: they may save it. */
function useWhy(body: Body, job: Job | undefined): string | undefined {
  const namespace = job?.namespace ?? textOf(body.namespace) ?? 'default';
  const save = usePermission(job ? 'jobs.update' : 'jobs.create', { namespace, userId: job?.user_id });
  const scripts = usePermission('scripts.submit', { namespace });
  const isScript = body.handler === 'script' || job?.handler === 'script';
  return save.why ?? (isScript ? scripts.why : undefined);
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Told together and in the words of the form, before the server is asked. */
function missingIn(body: Body): readonly CarillonError[] {
  const fields = [
    ['name', 'Give the job a name.'],
    ...(body.handler === 'http' ? ([['payload.url', 'Give the address that it calls.']] as const) : []),
  ] as const;
  return fields.flatMap(([field, message]) => {
    const value = valueAt(body, field);
    return value === undefined || value === ''
      ? [new CarillonError({ code: 'required', message, field })]
      : [];
  });
}

/** Where the refused field is on the page, it gets the focus. */
function focusField(error: unknown): void {
  const found = fieldOf(error);
  found?.closest('details')?.setAttribute('open', '');
  found?.focus();
}

function fieldOf(error: unknown): HTMLElement | undefined {
  const field = error instanceof CarillonError ? error.field : undefined;
  if (field === undefined) return undefined;
  const names = [field, field.split(/[.[]/, 2).join('.'), field.split(/[.[]/, 1)[0] ?? ''];
  for (const name of names) {
    const found = document.querySelector<HTMLElement>(`[data-field="${CSS.escape(name)}"]`);
    if (found) return found;
  }
  return undefined;
}
