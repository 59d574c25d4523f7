/** What an http job calls: method, address, headers, body, and what counts as success. */
import type { Json } from '@carillon/client';
import { Group, Select, Stack, TagsInput } from '@mantine/core';
import { JsonInput } from '../../ui/json-input.tsx';
import { PairsInput } from '../../ui/pairs-input.tsx';
import { ORDER, TextField } from './fields.tsx';
import { useField } from './form-context.tsx';
import { isObject } from './job-body.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const BY_ITSELF = 'by itself';

export function HttpFields() {
  const method = useField('payload.method');
  const headers = useField('payload.headers');
  const body = useField('payload.body');
  const expected = useField('payload.expect_status');
  const pairs = isObject(headers.value)
    ? Object.fromEntries(Object.entries(headers.value).map(([name, value]) => [name, String(value)]))
    : {};
  return (
    <Stack gap="sm">
      <Group align="flex-start" gap="sm" wrap="nowrap">
        <Select
          label="Method"
          w={120}
          inputWrapperOrder={ORDER}
          data-field="payload.method"
          allowDeselect={false}
          data={[BY_ITSELF, ...METHODS]}
          value={method.text.toUpperCase() || BY_ITSELF}
          error={method.error}
          onChange={(chosen) => method.set(chosen === null || chosen === BY_ITSELF ? undefined : chosen)}
        />
        <div style={{ flex: 1 }}>
          <TextField
            path="payload.url"
            label="Address"
            placeholder="https://example.org/report"
            required
            mono
          />
        </div>
      </Group>
      <PairsInput
        label="Headers"
        one="header"
        value={pairs}
        error={headers.error}
        namePlaceholder="X-Team"
        valuePlaceholder="billing, or {{secrets.name}}"
        onChange={(value) => headers.set(value as Json | undefined)}
      />
      <JsonInput
        label="Body"
        description="JSON is sent as JSON, anything else as text. With a body the method is POST, without one GET, unless one is chosen."
        value={body.value}
        orText
        error={body.error}
        onChange={body.set}
      />
      <TagsInput
        label="Statuses that count as success"
        description="Such as 200 or 3xx; every 2xx when left out."
        inputWrapperOrder={ORDER}
        data-field="payload.expect_status"
        placeholder={expected.value === undefined ? '2xx' : ''}
        value={[expected.value ?? []].flat().map(String)}
        error={expected.error}
        onChange={(statuses) => expected.set(statuses.length === 0 ? undefined : statuses)}
      />
    </Stack>
  );
}
