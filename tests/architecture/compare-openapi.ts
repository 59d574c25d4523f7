/**
 * What a caller of the former interface would notice of the present one, from the OpenAPI documents of both. A request that
 * was valid must stay valid; of an answer, every field that was there must still be there, with the same types. What is new is
 * no break: operations, optional input, fields of answers, further values in the enumerations of answers.
 */
import { type Break, compareSchemas, type Schema, type Schemas } from './compare-schemas.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly [type: string]: { readonly schema?: Schema };
}

interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly $ref?: string }>>;
  readonly security?: readonly object[];
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Schemas;
    readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
  };
}

/** One sentence for each break; empty when every caller goes on as before. */
export function compareOpenApi(former: OpenApi, present: OpenApi): Break[] {
  const breaks: Break[] = [];
  for (const [path, methods] of Object.entries(former.paths)) {
    for (const [method, before] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      const now = present.paths[path]?.[method];
      if (now === undefined) breaks.push(`${name}: the operation was removed`);
      else breaks.push(...compareOperations({ name, before, now, former, present }));
    }
  }
  return breaks;
}

interface Pair {
  readonly name: string;
  readonly before: Operation;
  readonly now: Operation;
  readonly former: OpenApi;
  readonly present: OpenApi;
}

function compareOperations(pair: Pair): Break[] {
  const { name, before, now } = pair;
  const breaks = [...compareParameters(pair), ...compareBodies(pair), ...compareAnswers(pair)];
  if (before.operationId !== now.operationId)
    breaks.push(`${name}: operationId ${before.operationId} became ${now.operationId}`);
  if ((before.security ?? []).length === 0 && (now.security ?? []).length > 0)
    breaks.push(`${name}: was open to everybody and needs a credential`);
  return breaks;
}

function compareParameters({ name, before, now, former, present }: Pair): Break[] {
  const breaks: Break[] = [];
  const find = (all: readonly Parameter[] | undefined, wanted: Parameter) =>
    all?.find((one) => one.in === wanted.in && one.name === wanted.name);
  for (const parameter of before.parameters ?? []) {
    const at = `${name}, ${parameter.in} parameter ${parameter.name}`;
    const found = find(now.parameters, parameter);
    if (found === undefined) breaks.push(`${at}: removed`);
    else {
      if (found.required && !parameter.required) breaks.push(`${at}: became required`);
      breaks.push(...compareSchemas('request', parameter.schema, found.schema, { at, former, present }));
    }
  }
  for (const parameter of now.parameters ?? [])
    if (parameter.required && find(before.parameters, parameter) === undefined)
      breaks.push(`${name}, ${parameter.in} parameter ${parameter.name}: is new and required`);
  return breaks;
}

function compareBodies({ name, before, now, former, present }: Pair): Break[] {
  const at = `${name}, request body`;
  if (now.requestBody?.required && before.requestBody === undefined) return [`${at}: is new and required`];
  if (before.requestBody === undefined) return [];
  if (now.requestBody === undefined) return [`${at}: removed`];
  const breaks: Break[] = [];
  if (now.requestBody.required && before.requestBody.required === false)
    breaks.push(`${at}: became required`);
  breaks.push(
    ...compareContents('request', before.requestBody.content, now.requestBody.content, {
      at,
      former,
      present,
    }),
  );
  return breaks;
}

function compareAnswers({ name, before, now, former, present }: Pair): Break[] {
  return Object.entries(before.responses).flatMap(([status, answer]) => {
    const at = `${name}, answer ${status}`;
    const found = now.responses[status];
    if (found === undefined) return [`${at}: removed`];
    const contents = [contentOf(former, answer), contentOf(present, found)] as const;
    return compareContents('answer', ...contents, { at, former, present });
  });
}

function contentOf(
  { components }: OpenApi,
  { $ref, content }: { $ref?: string; content?: Content },
): Content {
  const name = $ref?.replace('#/components/responses/', '');
  return (name === undefined ? content : components.responses?.[name]?.content) ?? {};
}

function compareContents(
  direction: 'request' | 'answer',
  before: Content,
  now: Content,
  context: { at: string; former: OpenApi; present: OpenApi },
): Break[] {
  return Object.entries(before).flatMap(([type, { schema }]) => {
    const found = now[type];
    if (found === undefined) return [`${context.at}: content type ${type} was removed`];
    if (schema === undefined) return [];
    return compareSchemas(direction, schema, found.schema ?? {}, context);
  });
}
