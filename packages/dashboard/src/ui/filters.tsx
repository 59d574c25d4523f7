/** The filters of a list, as the address has them: a box to type into, words to choose from, and a way to drop them all. */
import { Button, MultiSelect, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import classes from './filters.module.css';
import type { Option } from './options.ts';
import { useShortcuts } from './shortcuts.ts';

const TYPED_MS = 250;

/** Changes the query of the screen; it replaces the address, so that Back leaves the screen. */
export function useFilters<T extends object>(): { change: (values: Partial<T>) => void } {
  const navigate = useNavigate();
  const change = useCallback(
    (values: Partial<T>) =>
      void navigate({
        to: '.',
        search: (before: object) => ({ ...before, ...values }),
        replace: true,
      } as never),
    [navigate],
  );
  return { change };
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly width?: number;
  /** The key `/` leads here. */
  readonly main?: boolean;
}

export function TextFilter({ label, value, onChange, width = 180, main = false }: TextFilterProps) {
  const [typed, setTyped] = useState(value ?? '');
  const box = useRef<HTMLInputElement>(null);
  // The address changed elsewhere, for instance by Back.
  useEffect(() => setTyped(value ?? ''), [value]);
  const tell = useDebouncedCallback((text: string) => onChange(text === '' ? undefined : text), TYPED_MS);
  useShortcuts(main ? { '/': () => box.current?.focus() } : {});
  return (
    <TextInput
      ref={box}
      size="xs"
      w={width}
      aria-label={label}
      placeholder={main ? `${label} (/)` : label}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        tell(currentTarget.value);
      }}
    />
  );
}

/** From so many on they are found by a part of their name. */
const SEARCHED_FROM = 8;

interface ChoiceFilterProps {
  readonly label: string;
  readonly value?: string | undefined;
  readonly options: readonly Option[];
  readonly onChange: (value: string | undefined) => void;
  readonly width?: number;
}

export function ChoiceFilter({ label, value, options, onChange, width = 140 }: ChoiceFilterProps) {
  return (
    <Select
      size="xs"
      w={width}
      clearable
      searchable={options.length >= SEARCHED_FROM}
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
      aria-label={label}
      placeholder={label}
      data={[...options]}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  );
}

/** Several words at once, in the address separated by commas. */
export function ChoicesFilter({ label, value, options, onChange, width = 220 }: ChoiceFilterProps) {
  return (
    <MultiSelect
      size="xs"
      // It grows with what is chosen.
      {...(value === undefined ? { w: width } : { miw: width })}
      maw={420}
      clearable
      aria-label={label}
      placeholder={value === undefined ? label : ''}
      data={[...options]}
      value={value?.split(',') ?? []}
      onChange={(chosen) => onChange(chosen.length === 0 ? undefined : chosen.join(','))}
    />
  );
}

interface FilterChipProps {
  readonly label: string;
  readonly value: string;
  readonly onRemove: () => void;
}

/** A filter that only a link sets: it is seen, and can be dropped. */
export function FilterChip({ label, value, onRemove }: FilterChipProps) {
  return (
    <Button
      size="xs"
      variant="default"
      maw={280}
      aria-label={`Drop the filter ${label}: ${value}`}
      title={value}
      rightSection={<span aria-hidden="true">×</span>}
      onClick={onRemove}
    >
      {label}: {value}
    </Button>
  );
}

/** Keys are shortcuts again. Where a list of choices is open, Esc closes it first. */
function leaveByEscape({ key, target }: React.KeyboardEvent) {
  if (key === 'Escape' && target instanceof HTMLInputElement && target.ariaExpanded !== 'true') target.blur();
}

export function FilterBar({
  children,
  onClear,
}: {
  children: React.ReactNode;
  onClear?: (() => void) | undefined;
}) {
  return (
    <search className={classes.bar} onKeyDown={leaveByEscape}>
      {children}
      {onClear && (
        <Button size="compact-xs" variant="subtle" onClick={onClear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}
