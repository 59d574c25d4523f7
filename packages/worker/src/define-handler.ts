/**
 * A handler with a typed payload: the schema of a validation library reads the payload before the handler is called, and is published
 * as JSON Schema, so that the server refuses jobs that do not fit.
 */
import { type Handler, HandlerError, type RunContext } from './handler.ts';
import type { HandlerPlugin, JsonSchema, UnnamedPlugin } from './handler-plugin.ts';
import { issueText, type OutputOf, type StandardSchemaV1, type Validated } from './standard-schema.ts';

/** A run whose payload was read by the schema of its handler. */
export interface TypedRun<Payload> extends Omit<RunContext, 'payload'> {
  readonly payload: Payload;
}

/** A typed handler that is named where it is offered. */
export interface UnnamedTypedHandler<Schema extends StandardSchemaV1> {
  readonly description?: string | undefined;
  readonly parameters: Schema;
  /** For a library that cannot write its schemas as JSON Schema. Left out there: the payload is read, and no schema is published. */
  readonly toJSONSchema?: ((schema: Schema) => object) | undefined;
  run(run: TypedRun<OutputOf<Schema>>): unknown;
}

export interface TypedHandler<Schema extends StandardSchemaV1> extends UnnamedTypedHandler<Schema> {
  readonly name: string;
}

export function defineHandler<Schema extends StandardSchemaV1>(handler: TypedHandler<Schema>): HandlerPlugin {
  return { name: handler.name, ...asPlugin(handler) };
}

/** A typed handler becomes one whose payload is read by its schema; others stay as they are. */
export function asPlugin<Schema extends StandardSchemaV1>(
  handler: UnnamedPlugin | UnnamedTypedHandler<Schema>,
): UnnamedPlugin {
  if (!isTyped(handler)) return handler;
  return {
    description: handler.description,
    parameters: jsonSchemaOf(handler),
    run: readingPayload(handler.parameters, (run) => handler.run(run)),
  };
}

function isTyped<Schema extends StandardSchemaV1>(
  handler: UnnamedPlugin | UnnamedTypedHandler<Schema>,
): handler is UnnamedTypedHandler<Schema> {
  return (handler.parameters as Partial<StandardSchemaV1> | undefined)?.['~standard'] !== undefined;
}

/** Issues shown in the error of a run. */
const ISSUES_MAX = 5;

/** Whatever makes a payload unreadable stays so: the run is not tried again. */
function readingPayload<Schema extends StandardSchemaV1>(
  schema: Schema,
  run: (run: TypedRun<OutputOf<Schema>>) => unknown,
): Handler {
  const proceed = (context: RunContext, read: Validated<unknown>) => {
    if (!read.issues) return run(withPayload(context, read.value as OutputOf<Schema>));
    const shown = read.issues.slice(0, ISSUES_MAX).map(issueText);
    const rest = read.issues.length > shown.length ? '; …' : '';
    throw new HandlerError(`the payload does not fit: ${shown.join('; ')}${rest}`, { retryable: false });
  };
  return (context) => {
    const read = schema['~standard'].validate(context.payload);
    return read instanceof Promise ? read.then((done) => proceed(context, done)) : proceed(context, read);
  };
}

/** The same run with another payload. A run has private state, so its members are taken from itself. */
function withPayload<Payload>(context: RunContext, payload: Payload): TypedRun<Payload> {
  return new Proxy(context, {
    get(run, member) {
      if (member === 'payload') return payload;
      const value: unknown = Reflect.get(run, member, run);
      return typeof value === 'function' ? value.bind(run) : value;
    },
  }) as unknown as TypedRun<Payload>;
}

function jsonSchemaOf<Schema extends StandardSchemaV1>({
  parameters,
  toJSONSchema,
}: UnnamedTypedHandler<Schema>): JsonSchema | undefined {
  if (toJSONSchema) return { ...toJSONSchema(parameters) };
  return parameters['~standard'].jsonSchema?.input({ target: 'draft-2020-12' });
}
