/** What every field of the form needs: the body that it shows a part of, how to change it, and what is wrong with which part. */
import { CarillonError, type Json } from '@carillon/client';
import { createContext, type ReactNode, useContext, useEffect, useId, useRef } from 'react';
import { fixWords, wordsAtField } from '../../ui/refusal-words.ts';
import { type Body, valueAt } from './job-body.ts';

export interface FormState {
  readonly body: Body;
  readonly set: (path: string, value: Json | undefined) => void;
  readonly replace: (body: Body) => void;
  /** What stands in this field is no value, so that the body does not have it. */
  readonly setReadable: (field: string, isReadable: boolean) => void;
  /** What the server refused: of the last save, and of the preview. */
  readonly errors: readonly unknown[];
  /** Of the job that is edited: its name is known also to those who may not list users. */
  readonly owner?: { readonly id: string; readonly name: string } | undefined;
  /** Editing a job that is there. */
  readonly isEdit: boolean;
  readonly jobId?: string | undefined;
}

const FormContext = createContext<FormState | undefined>(undefined);

export function FormProvider({ value, children }: { value: FormState; children: ReactNode }) {
  return <FormContext value={value}>{children}</FormContext>;
}

export function useForm(): FormState {
  const form = useContext(FormContext);
  if (form === undefined) throw new Error('a field stands outside of the form');
  return form;
}

interface Field {
  readonly value: Json | undefined;
  readonly set: (value: Json | undefined) => void;
  readonly error: ReactNode;
  readonly text: string;
}

/** One field by its path in the body, such as `retry.delay_seconds`. */
export function useField(path: string): Field {
  const { body, set, errors } = useForm();
  const value = valueAt(body, path);
  const told = errors.find((error) => isAbout(error, path)) as CarillonError | undefined;
  return {
    value,
    set: (to) => set(path, to),
    error: told && [wordsAtField(told.message, path), fixWords(told)].filter(Boolean).join(' '),
    text: typeof value === 'string' || typeof value === 'number' ? String(value) : '',
  };
}

/** For a field in which something may stand that is no value: nothing is saved meanwhile. */
export function useReadable(): (isReadable: boolean) => void {
  const id = useId();
  const { setReadable } = useForm();
  const set = useRef(setReadable);
  set.current = setReadable;
  useEffect(() => () => set.current(id, true), [id]);
  return (isReadable) => set.current(id, isReadable);
}

/** Whether an error belongs to this field, or to a part of it. */
export function isAbout(error: unknown, path: string): boolean {
  if (!(error instanceof CarillonError) || error.field === undefined) return false;
  return error.field === path || error.field.startsWith(`${path}.`) || error.field.startsWith(`${path}[`);
}
