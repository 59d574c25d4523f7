/** A time zone by its IANA name, found by a part of it. */
import { suggestZone } from '@carillon/domain';
import { type ComboboxItem, type OptionsFilter, Select } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';

const SHOWN_MAX = 60;
let known: readonly string[] | undefined;

function zones(): readonly string[] {
  known ??= [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
  return known;
}

const isIn = (zone: string, typed: string) => zone.toLowerCase().includes(typed.trim().toLowerCase());

/** For what is part of no name: the nearest one, as the command suggests it. */
function suggestionFor(typed: string): string | undefined {
  if (typed.trim() === '' || zones().some((zone) => isIn(zone, typed))) return undefined;
  return suggestZone(typed.trim());
}

const matching: OptionsFilter = ({ options, search, limit }) => {
  const all = options as ComboboxItem[];
  const found = all.filter(({ label }) => isIn(label, search)).slice(0, limit);
  const suggested = found.length === 0 ? suggestionFor(search) : undefined;
  return suggested === undefined ? found : all.filter(({ value }) => value === suggested);
};

interface ZoneSelectProps {
  readonly label: string;
  readonly value: string;
  readonly error?: ReactNode;
  readonly description?: ReactNode;
  readonly onChange: (zone: string) => void;
}

export function ZoneSelect({ label, value, error, description, onChange }: ZoneSelectProps) {
  const [typed, setTyped] = useState('');
  const suggested = useMemo(() => suggestionFor(typed), [typed]);
  const names = zones().includes(value) ? zones() : [value, ...zones()];
  return (
    <Select
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      data-field="time_zone"
      searchable
      // What is typed replaces the zone that was chosen.
      onFocus={({ currentTarget }) => currentTarget.select()}
      onClick={({ currentTarget }) => currentTarget.select()}
      allowDeselect={false}
      limit={SHOWN_MAX}
      onSearchChange={setTyped}
      filter={matching}
      renderOption={({ option }) =>
        option.value === suggested ? `Did you mean ${option.value}?` : option.label
      }
      nothingFoundMessage="No such zone"
      data={[...names]}
      value={value}
      error={error}
      onChange={(zone) => zone !== null && onChange(zone)}
    />
  );
}
