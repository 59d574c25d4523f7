/** What is known of a handler: where it comes from, what it is for, and which payload it takes. */

/** Carillon itself, a package that the settings name, the program that embeds the server, or a remote worker. */
export const HANDLER_ORIGINS = ['built_in', 'plugin', 'program', 'worker'] as const;
export type HandlerOrigin = (typeof HANDLER_ORIGINS)[number];

export interface HandlerDescription {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON text: a JSON Schema of its payload, whose root is an object. Undefined: it takes any. */
  readonly parameters: string | undefined;
  readonly origin: HandlerOrigin;
}

export const HANDLER_LENGTH_MAX = 100;
export const HANDLER_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;
export const HANDLER_DESCRIPTION_LENGTH_MAX = 1_000;
/** UTF-8 bytes of the schema of a payload. */
export const PARAMETERS_BYTES_MAX = 64 * 1_024;

/** What isHandlerName asks for, in words. */
export const HANDLER_NAME_RULE = `the name of a handler has 1 to ${HANDLER_LENGTH_MAX} letters, digits and . _ : / - and begins with a letter or a digit`;

export function isHandlerName(name: string): boolean {
  return name.length <= HANDLER_LENGTH_MAX && HANDLER_NAME.test(name);
}
