/** What the job is called and what it does. */
import { Autocomplete, Combobox, type ComboboxItem, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { may, useCaller, usePermission } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { useHandlers, useNamespaces } from '../jobs/use-names.ts';
import { ORDER, TextField } from './fields.tsx';
import { useField, useForm } from './form-context.tsx';
import { useNamesakeNote } from './namesakes.tsx';
import { PayloadFields } from './payload-fields.tsx';

export function WhatSection() {
  const { isEdit } = useForm();
  const namesake = useNamesakeNote();
  return (
    <Card title="What">
      <SimpleGrid cols={{ base: 1, sm: isEdit ? 2 : 3 }} spacing="sm">
        <TextField path="name" label="Name" placeholder="Nightly report" description={namesake} required />
        <TextField
          path="key"
          label="Key (optional)"
          placeholder="nightly-report"
          description="What you know it by; unique in its namespace."
          mono
        />
        {!isEdit && <NamespaceField />}
      </SimpleGrid>
      <HandlerAndPayload />
    </Card>
  );
}

function NamespaceField() {
  const { text, set, error } = useField('namespace');
  const caller = useCaller();
  const allowed = useNamespaces().filter((namespace) => may(caller, 'jobs.create', { namespace }));
  return (
    <Select
      label="Namespace"
      description="It cannot move later."
      inputWrapperOrder={ORDER}
      data-field="namespace"
      allowDeselect={false}
      searchable
      data={[...new Set([...allowed, ...(text === '' ? [] : [text])])]}
      value={text === '' ? 'default' : text}
      error={error}
      onChange={(name) => set(name ?? undefined)}
    />
  );
}

function HandlerAndPayload() {
  const handler = useField('handler');
  const namespace = useField('namespace').text;
  const handlers = useHandlers();
  const name = handler.text;
  const known = handlers?.find((one) => one.name === name);
  const scripts = usePermission('scripts.submit', namespace === '' ? {} : { namespace });
  return (
    <Stack gap="sm">
      <Autocomplete
        label="Handler"
        description={known?.description ?? 'What runs it, by the name that workers offer it under.'}
        inputWrapperOrder={ORDER}
        data-field="handler"
        required
        data={handlers?.map((one) => one.name) ?? []}
        // What is chosen hides no other choice; what is typed does.
        filter={({ options, search }) =>
          known ? options : options.filter((one) => (one as ComboboxItem).label.includes(search.trim()))
        }
        renderOption={({ option }) => (
          <div>
            <Text size="sm">{option.value}</Text>
            <Text size="xs" c="dimmed">
              {handlers?.find((one) => one.name === option.value)?.description}
            </Text>
          </div>
        )}
        rightSection={<Combobox.Chevron />}
        rightSectionPointerEvents="none"
        value={name}
        error={handler.error}
        onChange={(chosen) => handler.set(chosen === '' ? undefined : chosen)}
      />
      {handlers && name !== '' && (known === undefined || known.workers === 0) && (
        <Text size="sm" role="status">
          No worker offers this handler now: runs will wait until one does.
        </Text>
      )}
      {name === 'script' && !scripts.allowed && (
        <Text size="sm" role="status">
          Scripts run as programs on the machines of the workers, so only some may submit them. {scripts.why}.
        </Text>
      )}
      <PayloadFields handler={name} known={known} />
    </Stack>
  );
}
