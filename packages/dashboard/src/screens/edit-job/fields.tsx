/** The inputs of the form, each bound to a path of the body. An emptied one brings back the default. */
import { Checkbox, NumberInput, Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useField } from './form-context.tsx';

/** What explains an input stands below it, so that inputs beside each other stand in a line. */
export const ORDER: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'description',
  'error',
];

interface Bound {
  readonly path: string;
  readonly label: string;
  readonly description?: ReactNode;
  readonly placeholder?: string | undefined;
  readonly required?: boolean | undefined;
  readonly disabled?: boolean | undefined;
}

/** keepEmpty: emptied it stays there as an empty text, where a missing one would mean something else. */
export function TextField({
  path,
  mono = false,
  keepEmpty = false,
  ...look
}: Bound & { mono?: boolean; keepEmpty?: boolean }) {
  const { text, set, error } = useField(path);
  return (
    <TextInput
      {...look}
      inputWrapperOrder={ORDER}
      data-field={path}
      spellCheck={!mono}
      classNames={mono ? { input: 'mono' } : {}}
      value={text}
      error={error}
      onChange={({ currentTarget: { value } }) => set(value === '' && !keepEmpty ? undefined : value)}
    />
  );
}

export function NumberField({
  path,
  suffix,
  ...look
}: Bound & { min?: number; max?: number; suffix?: string; allowDecimal?: boolean }) {
  const { value, set, error } = useField(path);
  return (
    <NumberInput
      {...look}
      inputWrapperOrder={ORDER}
      data-field={path}
      {...(suffix !== undefined && { suffix: ` ${suffix}` })}
      value={typeof value === 'number' ? value : ''}
      error={error}
      onChange={(typed) => set(typeof typed === 'number' ? typed : undefined)}
    />
  );
}

/** The first choice is what the server takes when nothing is given, unless `fallback` names another. */
export function ChoiceField({
  path,
  options,
  fallback,
  ...look
}: Bound & { options: readonly { value: string; label: string }[]; fallback: string }) {
  const { value, set, error } = useField(path);
  return (
    <Select
      {...look}
      inputWrapperOrder={ORDER}
      data-field={path}
      allowDeselect={false}
      data={[...options]}
      value={typeof value === 'string' ? value : fallback}
      error={error}
      onChange={(chosen) => set(chosen ?? undefined)}
    />
  );
}

export function FlagField({ path, label, fallback }: Bound & { fallback: boolean }) {
  const { value, set, error } = useField(path);
  return (
    <Checkbox
      label={label}
      data-field={path}
      checked={typeof value === 'boolean' ? value : fallback}
      error={error}
      onChange={({ currentTarget }) => set(currentTarget.checked)}
    />
  );
}
