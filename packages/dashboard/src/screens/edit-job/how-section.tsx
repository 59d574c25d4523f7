/** How the job is run: how urgent, how often tried again, for how long, how many at a time, and what it is found by. */
import type { Json } from '@carillon/client';
import { SimpleGrid } from '@mantine/core';
import { Card } from '../../ui/card.tsx';
import { PairsInput } from '../../ui/pairs-input.tsx';
import { ChoiceField, FlagField, NumberField, TextField } from './fields.tsx';
import { useField } from './form-context.tsx';
import { isObject } from './job-body.ts';

export function HowSection() {
  return (
    <Card title="How">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
        <ChoiceField
          path="priority"
          label="Priority"
          fallback="medium"
          options={['high', 'medium', 'low'].map((value) => ({ value, label: value }))}
        />
        <NumberField
          path="timeout_seconds"
          label="Time limit of one attempt"
          suffix="s"
          min={0.001}
          max={604_800}
          placeholder="300 s"
        />
        <NumberField
          path="max_retries"
          label="Retries after a failure"
          min={0}
          max={100}
          allowDecimal={false}
          placeholder="3"
        />
        <NumberField
          path="max_concurrency"
          label="Runs at the same time"
          min={1}
          max={1_000}
          allowDecimal={false}
          placeholder="1"
        />
        <ChoiceField
          path="overlap"
          label="When that many are running"
          fallback="queue"
          options={[
            { value: 'queue', label: 'the next one waits' },
            { value: 'skip', label: 'the next one is skipped' },
            { value: 'replace', label: 'the next one replaces it' },
          ]}
        />
        <NumberField
          path="start_timeout_seconds"
          label="Longest wait for a start"
          suffix="s"
          min={0.001}
          placeholder="no limit"
        />
      </SimpleGrid>
      <details>
        <summary>Pauses between retries</summary>
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" mt="sm">
          <ChoiceField
            path="retry.strategy"
            label="How pauses grow"
            fallback="exponential"
            options={[
              { value: 'exponential', label: 'they double' },
              { value: 'fixed', label: 'they stay the same' },
              { value: 'none', label: 'no retries' },
            ]}
          />
          <NumberField path="retry.delay_seconds" label="First pause" suffix="s" min={0} placeholder="1 s" />
          <NumberField
            path="retry.max_delay_seconds"
            label="Longest pause"
            suffix="s"
            min={0}
            placeholder="300 s"
          />
          <NumberField
            path="retry.deadline_seconds"
            label="No attempt later than"
            description="After the run was due."
            suffix="s"
            min={0.001}
            placeholder="no limit"
          />
          <FlagField
            path="retry.jitter"
            label="Vary pauses, so that not all return at once"
            fallback={true}
          />
        </SimpleGrid>
      </details>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <Labels />
        <Resources />
      </SimpleGrid>
      <TextField path="user_id" label="Owner (user id)" placeholder="nobody" mono />
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
