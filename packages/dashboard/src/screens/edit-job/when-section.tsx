/** When the job runs: now, once at a time, by a cron expression, or again and again after an interval. */
import type { Json } from '@carillon/client';
import { SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Card } from '../../ui/card.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { CronFields, ZoneField } from './cron-fields.tsx';
import { type FieldSpec, Fields, ORDER, seconds, whole } from './fields.tsx';
import { useField, useForm } from './form-context.tsx';
import { scheduleTypeOf } from './job-body.ts';
import { soonInput, toLocalInput } from './local-time.ts';
import { changeMode, type Remembered, WHEN_MODES, type WhenMode } from './when-mode.ts';

const INTERVALS = ['30s', '5m', '15m', '1h', '6h', '1d', '1w', '1mo'];

export function WhenSection() {
  const { body, replace } = useForm();
  const own = useZone();
  const [remembered, setRemembered] = useState<Remembered>({});
  const mode = scheduleTypeOf(body);
  const choose = (to: WhenMode) => {
    if (to === mode) return;
    const changed = changeMode(body, { to, remembered, zone: own, soon: soonInput(own, Date.now()) });
    setRemembered(changed.remembered);
    replace(changed.body);
  };
  return (
    <Card title="When">
      <SegmentedControl
        aria-label="Kind of schedule"
        data={WHEN_MODES.map(({ value, label }) => ({ value, label }))}
        value={mode}
        onChange={(to) => choose(to as WhenMode)}
      />
      {mode === 'IMMEDIATE' && (
        <Text size="sm" c="dimmed">
          It runs once, as soon as it is saved.
        </Text>
      )}
      {mode === 'FUTURE' && (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <TimeField path="schedule_time" label="Time" required />
          <ZoneField />
        </SimpleGrid>
      )}
      {mode === 'CRON' && <CronFields />}
      {mode === 'INTERVAL' && (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <IntervalField />
          <ZoneField description="Days, weeks and months keep the time of its clock." />
        </SimpleGrid>
      )}
      {(mode === 'CRON' || mode === 'INTERVAL') && <RecurringFields />}
    </Card>
  );
}

/** A time by the clock of the zone beside it. */
function TimeField({ path, label, required = false }: { path: string; label: string; required?: boolean }) {
  const { value, set, error } = useField(path);
  const zone = useField('time_zone');
  const own = useZone();
  const shown = zone.text === '' ? own : zone.text;
  const { body, replace } = useForm();
  const change = (text: string) => {
    if (text === '') return set(required ? '' : undefined);
    // An interval is counted from its start, or from a time of its own.
    const { schedule_time: at, ...others } = body;
    const rest = path === 'start_at' || at === undefined ? others : body;
    // Without a zone the server could not know what the time means.
    replace({ ...rest, [path]: text as Json, time_zone: shown });
  };
  return (
    <TextInput
      type="datetime-local"
      label={label}
      inputWrapperOrder={ORDER}
      data-field={path}
      required={required}
      value={toLocalInput(value, shown)}
      error={error}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

function IntervalField() {
  const interval = useField('interval');
  const frequency = useField('frequency');
  const { body, replace } = useForm();
  const change = (text: string) => {
    const { frequency: _, ...others } = body;
    replace({ ...others, interval: text });
  };
  return (
    <Stack gap={4}>
      <TextInput
        label="Every"
        description="A number with s, m, h, d, w or mo."
        inputWrapperOrder={ORDER}
        data-field="interval"
        required
        classNames={{ input: 'mono' }}
        value={interval.text === '' && interval.value === undefined ? frequency.text : interval.text}
        error={interval.error ?? frequency.error}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      />
      <SegmentedControl
        size="xs"
        aria-label="Common intervals"
        data={INTERVALS}
        value={interval.text}
        onChange={change}
      />
    </Stack>
  );
}

const RECURRING: readonly FieldSpec[] = [
  {
    ...{ kind: 'choice', path: 'daylight_saving.gap', fallback: 'run_after' },
    ...{ label: 'A local time that does not exist', description: 'When clocks go forward.' },
    choices: { run_after: 'runs right after the gap', skip: 'is skipped' },
  },
  {
    ...{ kind: 'choice', path: 'daylight_saving.overlap', fallback: 'first' },
    ...{ label: 'A local time that exists twice', description: 'When clocks go back.' },
    choices: { first: 'runs at the first', second: 'runs at the second', both: 'runs at both' },
  },
  {
    ...{ kind: 'choice', path: 'misfire.policy', fallback: 'last' },
    label: 'Runs missed in an outage',
    choices: {
      last: 'only the most recent one is made up for',
      none: 'are skipped',
      all: 'are all made up for, within limits',
    },
  },
  seconds('spread_seconds', 'Spread', {
    ...{ description: 'Delays every run by a fixed share of this.', max: 86_400, placeholder: '0 s' },
  }),
];

const MISFIRE_LIMITS: readonly FieldSpec[] = [
  whole('misfire.max_runs', 'At most so many missed runs', { min: 1, max: 1_000, placeholder: '100' }),
  seconds('misfire.window_seconds', 'Missed within the last', { placeholder: '86400 s' }),
];

function RecurringFields() {
  const makesUpForAll = useField('misfire.policy').text === 'all';
  return (
    <details>
      <summary>Start, end, clock changes and missed runs</summary>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" mt="sm">
        <TimeField path="start_at" label="Not before" />
        <TimeField path="end_at" label="Not after" />
        <Fields fields={makesUpForAll ? [...RECURRING, ...MISFIRE_LIMITS] : RECURRING} />
      </SimpleGrid>
    </details>
  );
}
