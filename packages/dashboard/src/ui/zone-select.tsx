/** A time zone by its IANA name, found by a part of it. Any name that the server knows can be typed. */
import { suggestZone } from '@carillon/domain';
import { Autocomplete, type ComboboxItem, type OptionsFilter } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';

const SHOWN_MAX = 60;
let known: readonly string[] | undefined;

function zones(): readonly string[] {
  known ??= [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
  return known;
}

const lettersOf = (text: string) => text.trim().toLowerCase().replaceAll(' ', '_');
const isIn = (zone: string, typed: string) => zone.toLowerCase().includes(lettersOf(typed));

/** For what is part of no name: the nearest one, as the command suggests it. */
function suggestionFor(typed: string): string | undefined {
  if (typed.trim() === '' || zones().some((zone) => isIn(zone, typed))) return undefined;
  return suggestZone(typed.trim());
}

/** The zone that is meant by what was typed; the text itself where that is not certain: the server says what is wrong with it. */
export function zoneOf(typed: string): string {
  const wanted = lettersOf(typed);
  const exact = zones().find((zone) => zone.toLowerCase() === wanted);
  const found = zones().filter((zone) => isIn(zone, typed));
  return exact ?? (found.length === 1 ? found[0]! : typed.trim());
}

const matching: OptionsFilter = ({ options, search, limit }) => {
  const all = options as ComboboxItem[];
  const found = all.filter(({ label }) => isIn(label, search)).slice(0, limit);
  const suggested = found.length === 0 ? suggestionFor(search) : undefined;
  return suggested === undefined ? found : all.filter(({ value }) => value === suggested);
};

/** What was chosen hides no other choice; what is typed does. */
const everything: OptionsFilter = ({ options, limit }) => options.slice(0, limit);

interface ZoneSelectProps {
  readonly label: string;
  readonly value: string;
  readonly error?: ReactNode;
  readonly description?: ReactNode;
  readonly onChange: (zone: string) => void;
}

/** What is typed counts as soon as the field is left: nothing of it is dropped without a word. */
export function ZoneSelect({ label, value, error, description, onChange }: ZoneSelectProps) {
  const [typed, setTyped] = useState<string>();
  const suggested = useMemo(() => (typed === undefined ? undefined : suggestionFor(typed)), [typed]);
  const names = zones().includes(value) ? zones() : [value, ...zones()];
  const take = (text: string | undefined) => {
    setTyped(undefined);
    if (text === undefined || text.trim() === '') return;
    const zone = zoneOf(text);
    if (zone !== value) onChange(zone);
  };
  return (
    <Autocomplete
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      data-field="time_zone"
      // What is typed replaces the zone that was chosen.
      onFocus={({ currentTarget }) => currentTarget.select()}
      onClick={({ currentTarget }) => currentTarget.select()}
      limit={SHOWN_MAX}
      filter={typed === undefined ? everything : matching}
      renderOption={({ option }) =>
        option.value === suggested ? `Did you mean ${option.value}?` : option.value
      }
      data={names}
      value={typed ?? value}
      error={error}
      onChange={setTyped}
      onOptionSubmit={take}
      onBlur={() => take(typed)}
      onKeyDown={({ key }) => key === 'Enter' && take(typed)}
    />
  );
}
