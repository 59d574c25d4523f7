/** The inputs of the form, each bound to a path of the body. An emptied one brings back the default. */
import { Checkbox, Select, SimpleGrid, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { NumberBox } from '../../ui/number-box.tsx';
import { optionsOf } from '../../ui/options.ts';
import { useField, useReadable } from './form-context.tsx';

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
  const onValid = useReadable();
  return (
    <NumberBox
      {...look}
      inputWrapperOrder={ORDER}
      data-field={path}
      {...(suffix !== undefined && { suffix: ` ${suffix}` })}
      value={value}
      error={error}
      onChange={set}
      onValid={onValid}
    />
  );
}

/** The first choice is what the server takes when nothing is given, unless `fallback` names another. */
export function ChoiceField({
  path,
  choices,
  fallback,
  ...look
}: Bound & { choices: Readonly<Record<string, string>>; fallback: string }) {
  const { value, set, error } = useField(path);
  return (
    <Select
      {...look}
      inputWrapperOrder={ORDER}
      data-field={path}
      allowDeselect={false}
      data={[...optionsOf(choices)]}
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

type NumberProps = Parameters<typeof NumberField>[0];
/** A field of the form as data: a choice, a flag, or otherwise a number. */
export type FieldSpec =
  | ({ readonly kind?: undefined } & NumberProps)
  | ({ readonly kind: 'choice' } & Parameters<typeof ChoiceField>[0])
  | ({ readonly kind: 'flag' } & Parameters<typeof FlagField>[0]);

/** A duration: its placeholder is what counts when nothing is given. */
export function seconds(path: string, label: string, more: Omit<NumberProps, 'path' | 'label'>): FieldSpec {
  return { path, label, suffix: 's', min: 0, ...more };
}

/** A whole number. */
export function whole(path: string, label: string, more: Omit<NumberProps, 'path' | 'label'>): FieldSpec {
  return { path, label, allowDecimal: false, ...more };
}

export function Fields({ fields }: { fields: readonly FieldSpec[] }) {
  return fields.map(({ kind, ...field }) => {
    if (kind === 'choice')
      return <ChoiceField key={field.path} {...(field as Parameters<typeof ChoiceField>[0])} />;
    if (kind === 'flag')
      return <FlagField key={field.path} {...(field as Parameters<typeof FlagField>[0])} />;
    return <NumberField key={field.path} {...field} />;
  });
}

export function FieldGrid({ fields }: { fields: readonly FieldSpec[] }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
      <Fields fields={fields} />
    </SimpleGrid>
  );
}
