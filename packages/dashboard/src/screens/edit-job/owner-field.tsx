/** Who a job belongs to, chosen by name. The id of a user that the caller may not see can be typed. */
import { Select } from '@mantine/core';
import { useState } from 'react';
import { useCaller } from '../../api/session.ts';
import { useUserNames } from '../jobs/use-names.ts';
import { ORDER } from './fields.tsx';
import { useField, useForm } from './form-context.tsx';

const SHOWN_MAX = 60;
/** Before the id of somebody whose name is not known. */
const ID_OF = 'id ';

export function OwnerField() {
  const { text, set, error } = useField('user_id');
  const { owner, isEdit } = useForm();
  const caller = useCaller();
  // A new job that names nobody belongs to who makes it; the admin key is nobody.
  const maker = isEdit ? undefined : caller?.user_name;
  const known = useUserNames();
  const users = owner && known.every(({ id }) => id !== owner.id) ? [...known, owner] : known;
  const [typed, setTyped] = useState('');
  const options = users.map(({ id, name }) => ({ value: id, label: name }));
  const isFound = options.some(({ label }) => label.toLowerCase().includes(typed.trim().toLowerCase()));
  const strangers = [text, isFound || typed.startsWith(ID_OF) ? '' : typed.trim()].filter(
    (id) => id !== '' && !options.some(({ value }) => value === id),
  );
  return (
    <Select
      label="Owner"
      description="Whose job it is: people who may only change their own jobs may change it."
      placeholder={maker == null ? 'nobody' : `${maker} (you)`}
      inputWrapperOrder={ORDER}
      data-field="user_id"
      searchable
      clearable
      limit={SHOWN_MAX}
      data={[...options, ...[...new Set(strangers)].map((id) => ({ value: id, label: `${ID_OF}${id}` }))]}
      value={text === '' ? null : text}
      searchValue={typed}
      onSearchChange={setTyped}
      error={error}
      onChange={(id) => set(id ?? undefined)}
    />
  );
}
