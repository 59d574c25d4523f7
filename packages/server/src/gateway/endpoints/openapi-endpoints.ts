/** The interface, described for programs and for people. Open to everybody: it tells what can be asked, not what is there. */
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { buildOpenApi } from '../openapi/build-openapi.ts';
import { DOCS_PAGE, DOCS_PAGE_POLICY } from '../openapi/docs-page.ts';

/** The version of this interface, not of the program. */
const INTERFACE_VERSION = '1.0';
const CACHE = 'public, max-age=300';

export function openapiEndpoints(endpoints: () => readonly Endpoint[]): Endpoint[] {
  let document: string | undefined;
  return [
    endpoint({
      method: 'GET',
      path: '/openapi.json',
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
      handle: async ({ reply }) => {
        document ??= JSON.stringify(buildOpenApi(endpoints(), INTERFACE_VERSION));
        reply.header('cache-control', CACHE).type('application/json; charset=utf-8');
        return document;
      },
    }),

    endpoint({
      method: 'GET',
      path: '/docs',
      access: 'open',
      tag: 'documentation',
      summary: 'This interface as a page to read and to try',
      answers: { 200: { description: 'The page.', contentType: 'text/html' } },
      handle: async ({ reply }) => {
        reply
          .header('cache-control', CACHE)
          .header('content-security-policy', DOCS_PAGE_POLICY)
          .type('text/html; charset=utf-8');
        return DOCS_PAGE;
      },
    }),
  ];
}
