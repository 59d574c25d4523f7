/**
 * A box for a number. What was typed stays as it was typed, also while it is a part of a number; one that would be rounded is told and
 * not given on. Empty means no value.
 */
import type { Json } from '@carillon/client';
import { NumberInput } from '@mantine/core';
import { type ComponentProps, useEffect, useRef, useState } from 'react';
import { roundingOf } from './exact-json.ts';

interface NumberBoxProps extends Omit<ComponentProps<typeof NumberInput>, 'value' | 'onChange'> {
  readonly value: Json | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly onValid: (isValid: boolean) => void;
}

const shownOf = (value: Json | undefined) => (typeof value === 'number' ? value : '');

export function NumberBox({ value, error, onChange, onValid, ...look }: NumberBoxProps) {
  const [typed, setTyped] = useState<number | string>(() => shownOf(value));
  const [wrong, setWrong] = useState<string>();
  const given = useRef(value);
  const tell = useRef(onValid);
  tell.current = onValid;
  // Changed elsewhere, not by what was typed here.
  useEffect(() => {
    if (given.current === value) return;
    given.current = value;
    setTyped(shownOf(value));
    setWrong(undefined);
    tell.current(true);
  }, [value]);
  const change = (to: number | string) => {
    setTyped(to);
    const rounding = typeof to === 'string' ? roundingOf(to) : undefined;
    setWrong(rounding && `${rounding}.`);
    onValid(rounding === undefined);
    if (rounding !== undefined) return;
    const number = to === '' || Number.isNaN(Number(to)) ? undefined : Number(to);
    given.current = number;
    onChange(number);
  };
  // The input reads a long text as a rounded number when it is left.
  const isText = typeof typed === 'string';
  return (
    <NumberInput
      {...look}
      {...(isText && { clampBehavior: 'none', trimLeadingZeroesOnBlur: false })}
      value={typed}
      error={wrong ?? error}
      onChange={(to) => change(typeof to === 'bigint' ? String(to) : to)}
    />
  );
}
