/** The OpenAPI 3.1 document of the table of operations: from the same schemas that read requests, so that it cannot disagree. */
import { EXAMPLES, problemAnswer } from '@carillon/contract';
import type { Access, Answer, Operation } from '../api/operation.ts';
import { type JsonSchema, SchemaComponents } from './schema-components.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, unknown>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly deprecated?: true;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: true;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly 'application/json': { schema: JsonSchema; examples?: object } };
  };
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

const ABOUT =
  'Jobs that run at their instant, at least once, never twice at the same time. Fields are in snake_case; the camelCase spelling of every field of a body is understood too. Every error is a problem document (RFC 9457) with a code, the field and a way out.';

export function buildOpenApi(operations: readonly Operation[], version: string): OpenApiDocument {
  const components = new SchemaComponents();
  const problem = components.describe(problemAnswer, 'output');
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations) {
    const path = `/api${operation.path}`;
    paths[path] ??= {};
    for (const method of [operation.method].flat()) {
      paths[path][method.toLowerCase()] = operationOf(operation, method, components);
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Carillon', version, description: ABOUT },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.schemas,
      responses: {
        Problem: {
          description: 'Refused, or failed: why, and what to do about it.',
          content: { 'application/problem+json': { schema: problem, example: EXAMPLES.problem } },
        },
      },
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, or the admin key of the server: "Authorization: Bearer <key>".',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'carillon_session',
          description:
            'The session of somebody who signed in; changes also need the header X-CSRF-Token. At another port than 80 the name ends with it (carillon_session_7420); under TLS it is __Host-carillon_session.',
        },
      },
    },
  };
}

function operationOf(operation: Operation, method: string, components: SchemaComponents): OperationObject {
  const { path, tag, summary, description, access, body, bodyExamples } = operation;
  const examples = Object.entries(bodyExamples ?? {}).map(([name, value]) => [name, { value }]);
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    description: [description, needsOf(access)].filter(Boolean).join('\n\n'),
    ...(operation.deprecated && { deprecated: true }),
    parameters: parametersOf(operation, components),
    ...(body && {
      requestBody: {
        required: !operation.bodyOptional,
        content: {
          'application/json': {
            schema: components.describe(body.schema, 'input'),
            ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
          },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [status, responseOf(answer, components)]),
      ),
      default: { $ref: '#/components/responses/Problem' },
    },
    security: access === 'open' ? [] : [{ key: [] }, { session: [] }],
  };
}

function needsOf(access: Access): string {
  if (access === 'open') return 'Open to everybody.';
  if (access === 'self') return 'For whoever is signed in.';
  if (typeof access === 'string') return `Needs the permission ${access}.`;
  return `What is asked decides which permissions it needs: ${access.join(', ')}.`;
}

/** POST /jobs/{id}/runNow → postJobsByIdRunNow */
function operationId(method: string, path: string): string {
  const words = path
    .split(/[/.-]/)
    .filter(Boolean)
    .flatMap((part) => part.replace(/^\{(\w+)\}$/, 'by_$1').split('_'))
    .map((word) => word[0]!.toUpperCase() + word.slice(1));
  return method.toLowerCase() + words.join('');
}

function parametersOf(
  { path, subjectIs, query, headers }: Operation,
  components: SchemaComponents,
): Parameter[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]): Parameter => {
    return {
      name: name!,
      in: 'path',
      required: true,
      ...(subjectIs !== undefined && { description: subjectIs }),
      schema: { type: 'string' },
    };
  });
  const inHeaders = Object.entries(headers ?? {}).map(
    ([name, { description, example }]): Parameter => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
      ...(example !== undefined && { example }),
    }),
  );
  return [...inPath, ...(query ? inQuery(components.describe(query.schema, 'input')) : []), ...inHeaders];
}

function inQuery(schema: JsonSchema): Parameter[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, deprecated, ...rest }]) => ({
    name,
    in: 'query',
    ...(deprecated === true && { deprecated }),
    required: required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: rest,
  }));
}

function responseOf(answer: Answer, components: SchemaComponents): object {
  const { description, schema, contentType = 'application/json', example, otherTypes = {} } = answer;
  if (!schema && answer.contentType === undefined) return { description };
  const contentOf = (content: { schema?: Answer['schema'] | undefined; example?: unknown }) => ({
    ...(content.schema && { schema: components.describe(content.schema, 'output') }),
    ...(content.example !== undefined && { example: content.example }),
  });
  const others = Object.entries(otherTypes).map(([type, content]) => [type, contentOf(content)]);
  return {
    description,
    content: { [contentType]: contentOf({ schema, example }), ...Object.fromEntries(others) },
  };
}
