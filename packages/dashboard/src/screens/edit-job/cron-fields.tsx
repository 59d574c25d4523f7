/** A cron expression: as a whole, from a common one, or field by field; and the zone whose clock it follows. */
import { Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { ZoneSelect } from '../../ui/zone-select.tsx';
import { CRON_PRESETS, cronParts, withPart } from './cron-parts.ts';
import { ORDER, TextField } from './fields.tsx';
import { useField } from './form-context.tsx';

export function CronFields() {
  const { text, set } = useField('cron_expression');
  const parts = cronParts(text);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
        <TextField
          path="cron_expression"
          label="Cron expression"
          placeholder="0 9 * * 1-5"
          required
          mono
          keepEmpty
        />
        <Select
          label="Preset"
          placeholder="common schedules"
          data={[...CRON_PRESETS]}
          value={CRON_PRESETS.find(({ value }) => value === text)?.value ?? null}
          onChange={(chosen) => chosen !== null && set(chosen)}
        />
        <ZoneField />
      </SimpleGrid>
      {parts && (
        <SimpleGrid
          cols={{ base: 2, xs: 3, sm: parts.length }}
          spacing="xs"
          role="group"
          aria-label="Field by field"
        >
          {parts.map(({ name, hint, value }, i) => (
            <TextInput
              key={name}
              size="xs"
              label={name}
              description={hint}
              inputWrapperOrder={ORDER}
              classNames={{ input: 'mono' }}
              value={value}
              onChange={({ currentTarget }) => set(withPart(text, i, currentTarget.value))}
            />
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}

export function ZoneField({ description }: { description?: string }) {
  const { text, set, error } = useField('time_zone');
  return (
    <ZoneSelect
      label="Time zone"
      description={description}
      value={text === '' ? 'UTC' : text}
      error={error}
      onChange={set}
    />
  );
}
