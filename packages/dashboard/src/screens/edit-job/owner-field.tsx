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
  const wanted = typed.trim().toLowerCase();
  const matching = options.filter(({ label }) => label.toLowerCase().includes(wanted));
  const isFound = matching.length > 0;
  /** Whoever leaves the field means what stands there: a name, the only one of which it is a part, or an id. */
  const take = () => {
    const meant =
      options.find(({ label }) => label.toLowerCase() === wanted) ??
      (matching.length === 1 ? matching[0] : undefined);
    if (wanted !== '' && !typed.startsWith(ID_OF)) set(meant?.value ?? typed.trim());
  };
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
      onBlur={take}
      error={error}
      onChange={(id) => set(id ?? undefined)}
    />
  );
}
