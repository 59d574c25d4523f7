/** The options of a choice: what is meant, and what people read. */
export interface Option {
  readonly value: string;
  readonly label: string;
}

/** From labels by value, in their order. */
export function optionsOf(labels: Readonly<Record<string, string>>): readonly Option[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}

/** With what another page linked here by. */
export function withChosen(options: readonly Option[], chosen: string | undefined): readonly Option[] {
  const isThere = chosen === undefined || options.some(({ value }) => value === chosen);
  return isThere ? options : [...options, { value: chosen, label: chosen }];
}
