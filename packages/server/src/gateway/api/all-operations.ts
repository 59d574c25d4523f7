/** The table of operations: every one below /api, in the order the documentation shows them. */
import { z } from 'zod';
import { buildOpenApi } from '../openapi/build-openapi.ts';
import { DOCS_PAGE, DOCS_PAGE_POLICY } from '../openapi/docs-page.ts';
import { auditOperations, namespaceOperations, userOperations } from './accounts.ts';
import { deadLetterOperations } from './dead-letters.ts';
import { eventOperations } from './events.ts';
import { handlerOperations } from './handlers.ts';
import { insightOperations } from './insight.ts';
import { jobActionOperations } from './job-actions.ts';
import { jobKeyOperations } from './job-keys.ts';
import { jobOperations } from './jobs.ts';
import { keyOperations } from './keys.ts';
import { liveOperations } from './live.ts';
import { type ApiContext, type Operation, restOperation } from './operation.ts';
import { ownSettingsOperations } from './own-settings.ts';
import { runLogOperationsOf } from './run-logs.ts';
import { runOperations, workerOperations } from './runs.ts';
import { secretOperations } from './secrets.ts';
import { sessionOperations } from './sessions.ts';
import { signingKeyOperations } from './signing-keys.ts';
import { statsOperations } from './stats.ts';

const GROUPS = [
  jobOperations,
  jobKeyOperations,
  jobActionOperations,
  runOperations,
  runLogOperationsOf,
  insightOperations,
  deadLetterOperations,
  statsOperations,
  workerOperations,
  handlerOperations,
  eventOperations,
  liveOperations,
  sessionOperations,
  ownSettingsOperations,
  keyOperations,
  namespaceOperations,
  signingKeyOperations,
  secretOperations,
  userOperations,
  auditOperations,
];

export function allOperations(context: ApiContext): Operation[] {
  const operations = GROUPS.flatMap((group) => group(context));
  operations.push(...documentationOperations(() => operations));
  return operations;
}

/** The version of this interface, not of the program. */
const INTERFACE_VERSION = '1.0';
const CACHE = { 'cache-control': 'public, max-age=300' };

/** The interface, described for programs and for people. Open to everybody: it describes requests, and holds no data. */
function documentationOperations(described: () => readonly Operation[]): Operation[] {
  let document: string | undefined;
  return [
    restOperation({
      method: 'GET',
      path: '/openapi.json',
      restOnly: 'of REST; RPC has reflection',
      access: 'open',
      tag: 'documentation',
      summary: 'This interface as an OpenAPI 3.1 document',
      answers: {
        200: {
          description: 'The document.',
          schema: z.looseObject({ openapi: z.literal('3.1.0') }),
          example: { openapi: '3.1.0', info: { title: 'Carillon', version: INTERFACE_VERSION }, paths: {} },
        },
      },
      handle: async () => {
        document ??= JSON.stringify(buildOpenApi(described(), INTERFACE_VERSION));
        return { body: document, headers: { ...CACHE, 'content-type': 'application/json; charset=utf-8' } };
      },
    }),

    restOperation({
      method: 'GET',
      path: '/docs',
      restOnly: 'a page for browsers',
      access: 'open',
      tag: 'documentation',
      summary: 'This interface as a page to read and to try',
      answers: { 200: { description: 'The page.', contentType: 'text/html' } },
      handle: async () => ({
        body: DOCS_PAGE,
        headers: {
          ...CACHE,
          'content-security-policy': DOCS_PAGE_POLICY,
          'content-type': 'text/html; charset=utf-8',
        },
      }),
    }),
  ];
}
