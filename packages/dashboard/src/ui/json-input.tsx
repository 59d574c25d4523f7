/**
 * A box for JSON. What was typed stays as it was typed, also while it is not yet JSON; only what is JSON, without a number that would be
 * rounded, is given on. Empty means no value.
 */
import type { Json } from '@carillon/client';
import { Textarea } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { readJson } from './exact-json.ts';

interface JsonInputProps {
  readonly label: string;
  readonly description?: ReactNode;
  readonly placeholder?: string | undefined;
  readonly value: Json | undefined;
  readonly mustBe?: 'object' | undefined;
  /** What is not JSON is a text, instead of a mistake. */
  readonly orText?: boolean | undefined;
  readonly minRows?: number | undefined;
  readonly error?: ReactNode;
  readonly readOnly?: boolean | undefined;
  readonly onChange: (value: Json | undefined) => void;
  readonly onValid?: ((isValid: boolean) => void) | undefined;
}

export function JsonInput(props: JsonInputProps) {
  const { label, description, placeholder, value, mustBe, orText = false, minRows = 2 } = props;
  const { error, readOnly, onChange, onValid } = props;
  const [typed, setTyped] = useState(() => textOf(value, orText));
  const [wrong, setWrong] = useState<string>();
  const given = useRef(value);
  const tell = useRef(onValid);
  tell.current = onValid;
  // Changed elsewhere, not by what was typed here.
  useEffect(() => {
    if (JSON.stringify(given.current) === JSON.stringify(value)) return;
    given.current = value;
    setTyped(textOf(value, orText));
    setWrong(undefined);
    tell.current?.(true);
  }, [value, orText]);
  const change = (text: string) => {
    setTyped(text);
    const read = readText(text, { mustBe, orText });
    setWrong(read.wrong);
    onValid?.(read.wrong === undefined);
    if (read.wrong !== undefined) return;
    given.current = read.value;
    onChange(read.value);
  };
  return (
    <Textarea
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      placeholder={placeholder}
      autosize
      minRows={minRows}
      maxRows={20}
      spellCheck={false}
      readOnly={readOnly ?? false}
      classNames={{ input: 'mono' }}
      value={typed}
      error={wrong ?? error}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

function textOf(value: Json | undefined, orText: boolean): string {
  if (value === undefined) return '';
  return orText && typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function readText(
  text: string,
  { mustBe, orText }: { mustBe: 'object' | undefined; orText: boolean },
): { value?: Json | undefined; wrong?: string } {
  if (text.trim() === '') return { value: undefined };
  const read = readJson(text);
  if (read.wrong !== undefined) return orText && !read.isJson ? { value: text } : { wrong: read.wrong };
  const { value } = read;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (mustBe === 'object' && !isObject) return { wrong: 'This must be an object: { … }' };
  // A text such as 12 or true is meant as it stands.
  return { value: orText && (typeof value !== 'object' || value === null) ? text : value };
}
