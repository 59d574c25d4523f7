/** What the server refused about one field of a form stands at this field; anything else is shown by the form. */
import { CarillonError } from '@carillon/client';
import { PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from '@mantine/core';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { wordsAtField } from './refusal-words.ts';

interface FormErrors {
  readonly error: unknown;
  /** The fields that show their own. */
  readonly fields: Set<string>;
}

const FormErrorsContext = createContext<FormErrors>({ error: undefined, fields: new Set() });

/** children: given what no field shows. */
export function FormErrors({ error, children }: { error: unknown; children: (rest: unknown) => ReactNode }) {
  const [fields] = useState(() => new Set<string>());
  const isShown = error instanceof CarillonError && error.field !== undefined && fields.has(error.field);
  return (
    <FormErrorsContext value={{ error, fields }}>{children(isShown ? undefined : error)}</FormErrorsContext>
  );
}

function useFieldError(field: string): ReactNode {
  const { error, fields } = useContext(FormErrorsContext);
  useEffect(() => {
    fields.add(field);
    return () => void fields.delete(field);
  }, [fields, field]);
  if (!(error instanceof CarillonError) || error.field !== field) return undefined;
  return <span role="alert">{wordsAtField(error.message, field)}</span>;
}

export function FieldText({ field, ...look }: TextInputProps & { field: string }) {
  return <TextInput {...look} error={useFieldError(field)} />;
}

export function FieldPassword({ field, ...look }: PasswordInputProps & { field: string }) {
  return <PasswordInput {...look} error={useFieldError(field)} />;
}
