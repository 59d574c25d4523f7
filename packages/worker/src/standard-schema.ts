/**
 * The part of the Standard Schema interface (https://standardschema.dev) that handlers use: zod, valibot, arktype and others have
 * it. It is declared here by its shape, so that this package depends on none of them.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Of libraries that can write their schemas as JSON Schema. */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> }
      | undefined;
  };
}

export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema reads values as. */
export type OutputOf<Schema extends StandardSchemaV1> = NonNullable<Schema['~standard']['types']>['output'];

/** In words, such as `payload.urls[0]: Invalid URL`. */
export function issueText({ message, path = [] }: SchemaIssue): string {
  const names = path.map((part) => (typeof part === 'object' ? part.key : part));
  const steps = names.map((name) => (typeof name === 'number' ? `[${name}]` : `.${String(name)}`));
  return `payload${steps.join('')}: ${message}`;
}
