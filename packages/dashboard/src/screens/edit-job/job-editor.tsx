/**
 * The form and the JSON of one body, with the preview beside them. Whatever is typed is kept as a draft of this tab until it was
 * saved; what the server refuses is told at its field.
 */

import type { Job, Json, PreviewRequest } from '@carillon/client';
import { Alert, Box, Button, Grid, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { KEPT } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Waiting } from '../../ui/card.tsx';
import { readJson } from '../../ui/exact-json.ts';
import { AboutJob } from '../../ui/preferences.tsx';
import { CopyAs } from './copy-as.tsx';
import { type Draft, dropDraft, keepDraft, readDraft } from './draft-store.ts';
import classes from './edit-job.module.css';
import { FormProvider } from './form-context.tsx';
import { HowSection } from './how-section.tsx';
import { type Body, isObject, isSame, patchOf, scheduleTypeOf, withValue } from './job-body.ts';
import { SaveBar } from './save-bar.tsx';
import { ScheduleMonth } from './schedule-month.tsx';
import { FIRES, SchedulePreview } from './schedule-preview.tsx';
import { WhatSection } from './what-section.tsx';
import { scheduleFieldsOf } from './when-mode.ts';
import { WhenSection } from './when-section.tsx';

const JsonEditor = lazy(() => import('./json-editor.tsx'));
const PREVIEW_AFTER_MS = 250;

interface JobEditorProps {
  readonly draftId: string;
  readonly title: string;
  readonly initial: Body;
  /** The job that is edited; a new one has none. */
  readonly job?: Job | undefined;
}

export function JobEditor({ draftId, title, initial, job }: JobEditorProps) {
  const [restored, setRestored] = useState(() => restore(draftId, initial));
  const [body, setBody] = useState<Body>(restored?.body ?? initial);
  const [text, setText] = useState<string | undefined>(restored?.text);
  const [base, setBase] = useState(restored?.base ?? (job && { body: initial, version: job.version }));
  const [asJson, setAsJson] = useState(restored?.text !== undefined);
  const [refusal, setRefusal] = useState<unknown>();
  const [missing, setMissing] = useState<readonly unknown[]>([]);
  const [unreadable, setUnreadable] = useState<ReadonlySet<string>>(new Set());
  const changed = text !== undefined || !isSame(body as Json, (base?.body ?? initial) as Json);
  // Once it was saved there is nothing to keep, also while the page still shows it.
  const forgotten = useRef(false);
  useEffect(() => {
    if (forgotten.current) return;
    if (changed) keepDraft(draftId, { body, text, base });
    else dropDraft(draftId);
  }, [changed, draftId, body, text, base]);

  const replace = (to: Body) => {
    setBody(to);
    setText(undefined);
    setRefusal(undefined);
    setMissing([]);
  };
  const start = (from: Body, version: number | undefined) => {
    replace(from);
    setBase(version === undefined ? undefined : { body: from, version });
    setRestored(undefined);
    dropDraft(draftId);
  };
  const preview = usePreview(body, job);
  const errors = useMemo(() => [...missing, refusal, preview.error], [missing, refusal, preview.error]);
  const patch = base && patchOf(base.body, body);
  const jobId = job?.job_id;
  const hasPatch = patch !== undefined && Object.keys(patch).length > 0;
  return (
    <AboutJob zone={body.time_zone}>
      <FormProvider
        value={{
          ...{ body, replace, errors, isEdit: job !== undefined, jobId, owner: ownerOf(job) },
          set: (path, value) => replace(withValue(body, path, value)),
          setReadable: (field, isReadable) =>
            setUnreadable(
              (before) => new Set([...before].filter((id) => id !== field).concat(isReadable ? [] : field)),
            ),
        }}
      >
        <Stack gap="md">
          <Group justify="space-between">
            <Title order={1} size="h3" className="wrap-anywhere">
              {title}
            </Title>
            <SegmentedControl
              size="xs"
              aria-label="Edit as"
              data={['Form', 'JSON']}
              value={asJson ? 'JSON' : 'Form'}
              onChange={(to) => setAsJson(to === 'JSON')}
            />
          </Group>
          {restored && (
            <Alert variant="light" py={8} role="status">
              <Group justify="space-between">
                <Text size="sm">This is the draft that you had not saved.</Text>
                <Button size="compact-xs" variant="default" onClick={() => start(initial, job?.version)}>
                  Drop the draft
                </Button>
              </Group>
            </Alert>
          )}
          <Grid gap="md">
            <Grid.Col span={{ base: 12, md: 8 }}>
              <Stack gap="md">
                {asJson ? (
                  <JsonSide body={body} text={text} onText={setText} onBody={replace} />
                ) : text !== undefined ? (
                  <Alert variant="light" color="yellow">
                    <Text size="sm">
                      What was typed as JSON cannot be read yet, so the form cannot show it. Go back to JSON
                      to correct it.
                    </Text>
                  </Alert>
                ) : (
                  <>
                    <WhatSection />
                    <WhenSection />
                    <HowSection />
                  </>
                )}
                <SaveBar
                  {...{ body, base, job, patch, changed, start, refusal }}
                  onRefusal={setRefusal}
                  onMissing={setMissing}
                  isReadable={text === undefined && unreadable.size === 0}
                  rebase={(merged, onto) => {
                    replace(merged);
                    setBase(onto);
                  }}
                  forget={() => {
                    forgotten.current = true;
                    dropDraft(draftId);
                    return () => keepDraft(draftId, { body, text, base });
                  }}
                />
              </Stack>
            </Grid.Col>
            <Grid.Col span={{ base: 12, md: 4 }}>
              <Box className={classes.side}>
                <Stack gap="md">
                  <SchedulePreview
                    preview={preview.data}
                    error={preview.error}
                    schedule={preview.schedule}
                    misfire={body.misfire}
                  />
                  {preview.data && !preview.error && (
                    <ScheduleMonth preview={preview.data} schedule={preview.schedule} />
                  )}
                  {hasPatch ? (
                    <CopyAs body={patch as unknown as Body} jobId={jobId} title="As a command" />
                  ) : (
                    <CopyAs body={body} />
                  )}
                </Stack>
              </Box>
            </Grid.Col>
          </Grid>
        </Stack>
      </FormProvider>
    </AboutJob>
  );
}

function ownerOf(job: Job | undefined) {
  return job?.user_id && job.user_name ? { id: job.user_id, name: job.user_name } : undefined;
}

/** Only what differs from what the page would show anyway is a draft. */
function restore(draftId: string, initial: Body): Draft | undefined {
  const draft = readDraft(draftId);
  if (draft === undefined) return undefined;
  return draft.text === undefined && isSame(draft.body as Json, initial as Json) ? undefined : draft;
}

/** Others are counted where the job is, without itself. */
function usePreview(body: Body, job: Job | undefined) {
  const schedule = scheduleFieldsOf(body);
  const { namespace } = body;
  const where = job
    ? { job_id: job.job_id }
    : typeof namespace === 'string' && namespace !== '' && { namespace };
  const key = JSON.stringify({ ...schedule, schedule_type: scheduleTypeOf(body), ...where });
  const [settled] = useDebouncedValue(key, PREVIEW_AFTER_MS);
  const request = JSON.parse(settled) as PreviewRequest;
  const { data, error } = useQuery({
    queryKey: queryKeys.schedule('preview', settled),
    queryFn: ({ signal }) => carillon.schedules.preview({ ...request, count: FIRES }, { signal }),
    staleTime: KEPT.previewMs,
  });
  return { data, error, schedule: request };
}

interface JsonSideProps {
  readonly body: Body;
  readonly text: string | undefined;
  readonly onText: (text: string | undefined) => void;
  readonly onBody: (body: Body) => void;
}

/** The text of the editor is the person's own; it only follows the body when that was changed elsewhere. */
function JsonSide({ body, text, onText, onBody }: JsonSideProps) {
  const [own, setOwn] = useState(() => text ?? JSON.stringify(body, null, 2));
  const read = useMemo(() => parse(own), [own]);
  const follows = text === undefined && read.body !== undefined && !isSame(read.body as Json, body as Json);
  const shown = follows ? JSON.stringify(body, null, 2) : own;
  const change = (typed: string) => {
    setOwn(typed);
    const now = parse(typed);
    if (now.body === undefined) onText(typed);
    else onBody(now.body);
  };
  return (
    <Stack gap={6}>
      <Suspense fallback={<Waiting height={320} />}>
        <JsonEditor label="The job as JSON" value={shown} onChange={change} />
      </Suspense>
      {read.wrong !== undefined && (
        <Text size="sm" role="alert" className={classes.wrong}>
          {read.wrong}
        </Text>
      )}
    </Stack>
  );
}

function parse(text: string): { body?: Body; wrong?: string } {
  const { value, wrong } = readJson(text);
  if (wrong !== undefined) return { wrong };
  return isObject(value) ? { body: value } : { wrong: 'A job is an object: { … }' };
}
