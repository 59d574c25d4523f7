/** The payload, asked for as its handler wants it: a call, a script, the members of its schema, or JSON. */
import type { Handler, Json } from '@carillon/client';
import { Autocomplete, Checkbox, Select, Stack, TagsInput, Text, Textarea, TextInput } from '@mantine/core';
import { JsonInput } from '../../ui/json-input.tsx';
import { NumberBox } from '../../ui/number-box.tsx';
import { ORDER } from './fields.tsx';
import { useField, useForm, useReadable } from './form-context.tsx';
import { HttpFields } from './http-fields.tsx';
import { isObject } from './job-body.ts';
import { type SchemaField, schemaFields } from './simple-schema.ts';

const INTERPRETERS = ['bash', 'sh', 'python3', 'node', 'perl', 'ruby'];
/** Asked for by inputs of their own. */
const SCRIPT_OWN = new Set(['interpreter', 'script', 'args']);

export function PayloadFields({ handler, known }: { handler: string; known: Handler | undefined }) {
  const { body } = useForm();
  if (JSON.stringify(body.payload ?? null).includes('"[hidden]"'))
    return (
      <Text size="sm" c="dimmed">
        The payload is hidden from you, and stays as it is. Seeing it needs the role operator.
      </Text>
    );
  if (handler === 'http') return <HttpFields />;
  if (handler === 'script') return <ScriptFields known={known} />;
  const fields = schemaFields(known?.parameters ?? null);
  return fields === undefined ? <WholePayload /> : <SchemaFields fields={fields} />;
}

function WholePayload() {
  const payload = useField('payload');
  const onValid = useReadable();
  return (
    <JsonInput
      label="Payload"
      description="What the handler is given, as a JSON object."
      value={payload.value}
      mustBe="object"
      minRows={5}
      error={payload.error}
      onChange={payload.set}
      onValid={onValid}
    />
  );
}

function ScriptFields({ known }: { known: Handler | undefined }) {
  const interpreter = useField('payload.interpreter');
  const script = useField('payload.script');
  const args = useField('payload.args');
  const more = schemaFields(known?.parameters ?? null)?.filter(({ name }) => !SCRIPT_OWN.has(name)) ?? [];
  return (
    <Stack gap="sm">
      <Autocomplete
        label="Interpreter"
        description="Left out: as the first line (#!) of the script says."
        inputWrapperOrder={ORDER}
        data-field="payload.interpreter"
        data={INTERPRETERS}
        value={interpreter.text}
        error={interpreter.error}
        onChange={(name) => interpreter.set(name === '' ? undefined : name)}
      />
      <Textarea
        label="Script"
        inputWrapperOrder={ORDER}
        data-field="payload.script"
        autosize
        minRows={6}
        maxRows={30}
        spellCheck={false}
        classNames={{ input: 'mono' }}
        placeholder={'#!/bin/bash\nset -e\necho hello'}
        value={script.text}
        error={script.error}
        onChange={({ currentTarget: { value } }) => script.set(value === '' ? undefined : value)}
      />
      <TagsInput
        label="Arguments"
        inputWrapperOrder={ORDER}
        data-field="payload.args"
        value={Array.isArray(args.value) ? args.value.map(String) : []}
        error={args.error}
        onChange={(words) => args.set(words.length === 0 ? undefined : words)}
      />
      {more.length > 0 && (
        <details>
          <summary>More about the script</summary>
          <SchemaFields fields={more} />
        </details>
      )}
    </Stack>
  );
}

function SchemaFields({ fields }: { fields: readonly SchemaField[] }) {
  const { body, set } = useForm();
  const payload = isObject(body.payload) ? body.payload : {};
  // The whole payload is set at once: names of members may hold dots.
  const change = (name: string, value: Json | undefined) => {
    const { [name]: _, ...others } = payload;
    set('payload', value === undefined ? others : { ...payload, [name]: value });
  };
  return (
    <Stack gap="sm">
      {fields.map((field) => (
        <SchemaInput
          key={field.name}
          field={field}
          value={payload[field.name]}
          onChange={(value) => change(field.name, value)}
        />
      ))}
    </Stack>
  );
}

function SchemaInput({
  field,
  value,
  onChange,
}: {
  field: SchemaField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const { name, kind, description, required, options, fallback, min, max } = field;
  const { error } = useField(`payload.${name}`);
  const onValid = useReadable();
  const look = {
    ...{ label: name, description, error, 'data-field': `payload.${name}`, inputWrapperOrder: ORDER },
    placeholder: fallback === undefined ? undefined : String(fallback),
  };
  switch (kind) {
    case 'text':
      return (
        <TextInput
          {...look}
          required={required}
          value={typeof value === 'string' ? value : ''}
          onChange={({ currentTarget }) =>
            onChange(currentTarget.value === '' ? undefined : currentTarget.value)
          }
        />
      );
    case 'number':
    case 'integer':
      return (
        <NumberBox
          {...look}
          required={required}
          allowDecimal={kind === 'number'}
          {...(min !== undefined && { min })}
          {...(max !== undefined && { max })}
          {...{ value, onChange, onValid }}
        />
      );
    case 'flag':
      return (
        <Checkbox
          label={name}
          description={description}
          error={error}
          checked={value === undefined ? fallback === true : value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <Select
          {...look}
          required={required}
          clearable={!required}
          data={[...options]}
          value={typeof value === 'string' ? value : null}
          onChange={(chosen) => onChange(chosen ?? undefined)}
        />
      );
    case 'json':
      return <JsonInput {...{ label: name, description, error, value, onChange, onValid }} />;
  }
}
