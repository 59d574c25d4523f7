/** Files that runs left: listed, and read one by one. They hold what a job wrote: no browser shows one as a page. */
import { Readable } from 'node:stream';
import { ARTIFACT_QUERY, artifactAnswer, artifactView, rpc } from '@carillon/contract';
import { z } from 'zod';
import { readParts } from '../../run-logs/run-logs.ts';
import { type ApiContext, type Operation, operation, reading, restOperation } from './operation.ts';

const { method: call } = rpc.JobService;
const TYPE = 'application/octet-stream';

export function artifactOperations(operations: ApiContext['operations']): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/runs/{id}/artifacts',
      rpc: { method: call.listRunArtifacts },
      access: ['runs.read', 'payloads.read'],
      tag: 'runs',
      summary: 'List the files that a run left',
      description:
        'Of all its attempts, the latest first. Those of a server that cannot be asked now are left out where there are others.',
      subject: 'run',
      answers: {
        200: {
          description: 'The files.',
          schema: z.array(artifactAnswer),
          example: [
            { name: 'report.pdf', bytes: 48_213, attempt: 1, created_at: '2030-01-01T09:00:04.000Z' },
          ],
        },
      },
      handle: async ({ caller, id }) => ({
        body: (await operations.listArtifacts(caller, id)).map(artifactView),
      }),
    }),

    restOperation({
      method: 'GET',
      path: '/runs/{id}/artifacts/{name}',
      calls: [call.getRunArtifact],
      access: ['runs.read', 'payloads.read'],
      tag: 'runs',
      summary: 'Read a file that a run left',
      description: 'Its bytes, as the run wrote them. Browsers save it.',
      subject: 'run',
      query: reading(ARTIFACT_QUERY),
      answers: {
        200: { description: 'The file.', contentType: TYPE },
      },
      handle: async ({ caller, id, query: { attempt }, request, reply }) => {
        const { name } = request.params as { readonly name: string };
        const file = await operations.getArtifact(caller, id, { name, attempt });
        reply.type(TYPE);
        reply.headers({
          'content-disposition': `attachment; filename*=UTF-8''${spelled(name)}`,
          'content-length': String(file.bytes),
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
        });
        if (request.method === 'HEAD') return { body: '' };
        return { body: Readable.from(readParts([file], { from: 0, bytes: file.bytes })) };
      },
    }),
  ];
}

/** As RFC 8187 writes what is not plain. */
function spelled(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (found) => `%${found.charCodeAt(0).toString(16)}`);
}
