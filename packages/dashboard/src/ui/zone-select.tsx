/** A time zone by its IANA name, found by a part of it. */
import { Select } from '@mantine/core';
import type { ReactNode } from 'react';

const SHOWN_MAX = 60;
let known: readonly string[] | undefined;

function zones(): readonly string[] {
  known ??= [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
  return known;
}

interface ZoneSelectProps {
  readonly label: string;
  readonly value: string;
  readonly error?: ReactNode;
  readonly description?: ReactNode;
  readonly onChange: (zone: string) => void;
}

export function ZoneSelect({ label, value, error, description, onChange }: ZoneSelectProps) {
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
      nothingFoundMessage="No such zone"
      data={[...names]}
      value={value}
      error={error}
      onChange={(zone) => zone !== null && onChange(zone)}
    />
  );
}
