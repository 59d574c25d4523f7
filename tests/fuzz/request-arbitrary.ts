/** Requests to everything that the OpenAPI document describes, as a careless or hostile client would send them. */
import fc from 'fast-check';
import type {
  OpenApiDocument,
  OperationObject,
} from '../../packages/server/src/gateway/openapi/build-openapi.ts';
import { fromSchema, nasty } from './schema-arbitrary.ts';

export interface FuzzRequest {
  readonly method: string;
  /** As described, such as /api/jobs/{id}. */
  readonly path: string;
  /** For each part of the path: one of the ids that were seen, by its number, or a text of its own. */
  readonly params: readonly (number | string)[];
  readonly query: readonly (readonly [string, unknown])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly json: unknown } | { readonly text: string } | undefined;
  readonly as: FuzzCaller;
}

/** Who sends a request. */
export type FuzzCaller = 'admin' | 'viewer key' | 'scoped key' | 'session' | 'nobody';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

export function requests(api: OpenApiDocument): fc.Arbitrary<FuzzRequest> {
  const described = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestTo(api, { method, path, operation })),
  );
  return fc.oneof(...described);
}

function requestTo(
  api: OpenApiDocument,
  { method, path, operation }: { method: string; path: string; operation: OperationObject },
): fc.Arbitrary<FuzzRequest> {
  const { schemas } = api.components;
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query');
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  const inHeaders = operation.parameters.filter((parameter) => parameter.in === 'header');
  const query = fc
    .subarray(inQuery, { maxLength: Math.min(4, inQuery.length) })
    .chain((chosen) =>
      fc.tuple(
        ...[...new Set([...chosen, ...inQuery.filter(({ required }) => required)])].map((parameter) =>
          fc.tuple(fc.constant(parameter.name), fromSchema(parameter.schema, schemas, parameter.name)),
        ),
      ),
    );
  const id = fc.oneof(
    { weight: 8, arbitrary: fc.nat() as fc.Arbitrary<number | string> },
    {
      weight: 1,
      arbitrary: fc.constantFrom(UNKNOWN_ID, 'x', '..', '\u0000', 'a\u0000', '%00', "'", '0'.repeat(300)),
    },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 20 }) },
  );
  const header = fc
    .tuple(
      fc.subarray(inHeaders.map(({ name }) => name)),
      fc.constantFrom('"1"', '*', 'k1', 'k2', 'x y', '"', '""'),
    )
    .map(([names, value]) => Object.fromEntries(names.map((name) => [name.toLowerCase(), value])));
  return fc.record({
    method: fc.oneof(
      { weight: 30, arbitrary: fc.constant(method.toUpperCase()) },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
    ),
    path: fc.constant(path),
    params: fc.tuple(...inPath.map(() => id)),
    query: fc.oneof(
      { weight: 12, arbitrary: query },
      { weight: 1, arbitrary: fc.constant([['colour', 'red'] as const]) },
    ),
    headers: header,
    body: bodyOf(operation, schemas),
    as: fc.oneof(
      { weight: 12, arbitrary: fc.constant('admin') },
      { weight: 7, arbitrary: fc.constantFrom('viewer key', 'scoped key', 'session') },
      { weight: 1, arbitrary: fc.constant('nobody') },
    ),
  }) as fc.Arbitrary<FuzzRequest>;
}

function bodyOf(
  { requestBody }: OperationObject,
  schemas: OpenApiDocument['components']['schemas'],
): fc.Arbitrary<FuzzRequest['body']> {
  const garbage = fc.constantFrom(
    '',
    '{',
    '[1,2',
    '{"a":1}}',
    'name=a',
    '\u0000',
    '{"name":"a","name":"b"}',
    '"text"',
    'null',
  );
  if (!requestBody) {
    return fc.oneof(
      { weight: 12, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: garbage.map((text) => ({ text })) },
    );
  }
  const content = requestBody.content['application/json'];
  const examples = Object.values((content.examples ?? {}) as Record<string, { value: unknown }>);
  return fc.oneof(
    { weight: 12, arbitrary: fromSchema(content.schema, schemas).map((json) => ({ json })) },
    { weight: 2, arbitrary: fc.constantFrom(...examples.map(({ value }) => ({ json: value }))) },
    { weight: 1, arbitrary: nasty.map((json) => ({ json })) },
    { weight: 1, arbitrary: garbage.map((text) => ({ text })) },
  );
}
