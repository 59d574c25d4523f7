/** How the job is run: how urgent, how often tried again, for how long, how many at a time, and what it is found by. */
import type { Json } from '@carillon/client';
import { Box, SimpleGrid } from '@mantine/core';
import { Card } from '../../ui/card.tsx';
import { PairsInput } from '../../ui/pairs-input.tsx';
import { FieldGrid, type FieldSpec, seconds, whole } from './fields.tsx';
import { useField } from './form-context.tsx';
import { isObject } from './job-body.ts';
import { OwnerField } from './owner-field.tsx';

/** The shortest time that can be told. */
const MIN = 0.001;

const RUNS: readonly FieldSpec[] = [
  {
    ...{ kind: 'choice', path: 'priority', label: 'Priority', fallback: 'medium' },
    choices: { high: 'high', medium: 'medium', low: 'low' },
  },
  seconds('timeout_seconds', 'Time limit of one attempt', { min: MIN, max: 604_800, placeholder: '300 s' }),
  whole('max_retries', 'Retries after a failure', { min: 0, max: 100, placeholder: '3' }),
  whole('max_concurrency', 'Runs at the same time', { min: 1, max: 1_000, placeholder: '1' }),
  {
    ...{ kind: 'choice', path: 'overlap', label: 'When that many are running', fallback: 'queue' },
    choices: {
      queue: 'the next one waits',
      skip: 'the next one is skipped',
      replace: 'the next one replaces it',
    },
  },
  seconds('start_timeout_seconds', 'Longest wait for a start', { min: MIN, placeholder: 'no limit' }),
];

const PAUSES: readonly FieldSpec[] = [
  {
    ...{ kind: 'choice', path: 'retry.strategy', label: 'How pauses grow', fallback: 'exponential' },
    choices: { exponential: 'they double', fixed: 'they stay the same', none: 'no retries' },
  },
  seconds('retry.delay_seconds', 'First pause', { placeholder: '1 s' }),
  seconds('retry.max_delay_seconds', 'Longest pause', { placeholder: '300 s' }),
  seconds('retry.deadline_seconds', 'No attempt later than', {
    ...{ description: 'After the run was due.', min: MIN, placeholder: 'no limit' },
  }),
  {
    ...{ kind: 'flag', path: 'retry.jitter', fallback: true },
    label: 'Vary pauses, so that not all return at once',
  },
];

export function HowSection() {
  return (
    <Card title="How">
      <FieldGrid fields={RUNS} />
      <details>
        <summary>Pauses between retries</summary>
        <Box mt="sm">
          <FieldGrid fields={PAUSES} />
        </Box>
      </details>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <Labels />
        <Resources />
      </SimpleGrid>
      <OwnerField />
    </Card>
  );
}

function Labels() {
  const { value, set, error } = useField('labels');
  return (
    <PairsInput
      label="Labels"
      description="To find jobs by."
      one="label"
      namePlaceholder="team"
      valuePlaceholder="billing"
      value={textsOf(value)}
      error={error}
      onChange={(pairs) => set(pairs as Json | undefined)}
    />
  );
}

function Resources() {
  const { value, set, error } = useField('resources');
  const change = (pairs: Readonly<Record<string, string>> | undefined) =>
    set(
      pairs &&
        Object.fromEntries(
          // A text that is no number is given on as it is: the server says what is wrong with it.
          Object.entries(pairs).map(([name, text]) => [name, numberOr(text)]),
        ),
    );
  return (
    <PairsInput
      label="Resources"
      description="What a run takes up on its worker."
      one="resource"
      namePlaceholder="cpu"
      valuePlaceholder="2"
      value={textsOf(value)}
      error={error}
      onChange={change}
    />
  );
}

function numberOr(text: string): number | string {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

function textsOf(value: Json | undefined): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, String(inner)]));
}
