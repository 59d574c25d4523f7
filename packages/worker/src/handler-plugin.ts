/**
 * A handler that says what it is: its name, what it is for, and which payload it takes. The server shows this to people, and refuses
 * jobs whose payload does not fit when they are submitted. A plain function is a handler too, which takes any payload.
 */
import {
  HANDLER_DESCRIPTION_LENGTH_MAX,
  HANDLER_NAME_RULE,
  type HandlerDescription,
  type HandlerOrigin,
  isHandlerName,
  PARAMETERS_BYTES_MAX,
} from '@carillon/domain';
import type { Handler } from './handler.ts';

/** A JSON Schema of the draft 2020-12, as an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A handler that is named where it is offered. */
export interface UnnamedPlugin {
  /** A sentence for people. */
  readonly description?: string | undefined;
  /** The payload it takes: a JSON Schema, or what can write itself as one. Left out: any payload. */
  readonly parameters?: JsonSchema | { toJSONSchema(): object } | undefined;
  /** What the worker that offers it says of itself, beside its own labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly run: Handler;
}

export interface HandlerPlugin extends UnnamedPlugin {
  /** As jobs name it. */
  readonly name: string;
}

/** A handler as a worker offers it. */
export interface OfferedHandler extends HandlerDescription {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly run: Handler;
}

/** Reads what user code brings, which may be anything; throws an error that says what is wrong with it. */
export function readPlugin(given: unknown, origin: HandlerOrigin): OfferedHandler {
  if (typeof given !== 'object' || given === null)
    throw new TypeError('a handler is an object with a name and a function "run"');
  const { name, description, parameters, labels, run } = given as Partial<
    Record<keyof HandlerPlugin, unknown>
  >;
  if (typeof name !== 'string' || !isHandlerName(name)) throw new TypeError(HANDLER_NAME_RULE);
  if (typeof run !== 'function') throw new TypeError(`the handler "${name}" has no function "run"`);
  if (
    description !== undefined &&
    (typeof description !== 'string' || description.length > HANDLER_DESCRIPTION_LENGTH_MAX)
  )
    throw new TypeError(
      `the description of the handler "${name}" must be a text of at most ${HANDLER_DESCRIPTION_LENGTH_MAX} characters`,
    );
  return {
    ...{ name, description, parameters: schemaText(name, parameters), origin, run: run as Handler },
    ...(labels !== undefined && { labels: readLabels(name, labels) }),
  };
}

/** A function, or a plugin that is offered under the given name. */
export function offeredAs(name: string, handler: Handler | UnnamedPlugin | OfferedHandler): OfferedHandler {
  if (typeof handler === 'function')
    return { name, description: undefined, parameters: undefined, origin: 'program', run: handler };
  if ('origin' in handler) return handler;
  return readPlugin({ ...handler, name }, 'program');
}

function schemaText(name: string, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const written: unknown = canWriteItself(given) ? given.toJSONSchema() : given;
  if (typeof written !== 'object' || written === null || Array.isArray(written))
    throw new TypeError(`the parameters of the handler "${name}" must be a JSON Schema, as an object`);
  const text = JSON.stringify(written);
  const bytes = Buffer.byteLength(text);
  if (bytes > PARAMETERS_BYTES_MAX)
    throw new TypeError(
      `the parameters of the handler "${name}" are ${bytes} bytes of JSON; at most ${PARAMETERS_BYTES_MAX} are allowed`,
    );
  return text;
}

function readLabels(name: string, given: unknown): Record<string, string> {
  const isRecord = typeof given === 'object' && given !== null && !Array.isArray(given);
  if (!isRecord || !Object.values(given).every((value) => typeof value === 'string'))
    throw new TypeError(`the labels of the handler "${name}" must be an object of texts`);
  return { ...given } as Record<string, string>;
}

function canWriteItself(given: unknown): given is { toJSONSchema(): unknown } {
  return typeof (given as { toJSONSchema?: unknown } | null)?.toJSONSchema === 'function';
}
