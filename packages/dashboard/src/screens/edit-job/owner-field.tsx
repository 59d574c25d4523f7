/** Who a job belongs to, chosen by name. The id of a user that the caller may not see can be typed. */
import { Select } from '@mantine/core';
import { useState } from 'react';
import { useUserNames } from '../jobs/use-names.ts';
import { ORDER } from './fields.tsx';
import { useField } from './form-context.tsx';

const SHOWN_MAX = 60;

export function OwnerField() {
  const { text, set, error } = useField('user_id');
  const users = useUserNames();
  const [typed, setTyped] = useState('');
  const options = users.map(({ id, name }) => ({ value: id, label: name }));
  const isKnown = (text: string) => options.some(({ value, label }) => value === text || label === text);
  const strangers = [text, typed.trim()].filter((id) => id !== '' && !isKnown(id));
  return (
    <Select
      label="Owner"
      description="Who may change it where people only change their own jobs."
      placeholder="nobody"
      inputWrapperOrder={ORDER}
      data-field="user_id"
      searchable
      clearable
      limit={SHOWN_MAX}
      data={[...options, ...[...new Set(strangers)].map((id) => ({ value: id, label: `id ${id}` }))]}
      value={text === '' ? null : text}
      searchValue={typed}
      onSearchChange={setTyped}
      error={error}
      onChange={(id) => set(id ?? undefined)}
    />
  );
}
