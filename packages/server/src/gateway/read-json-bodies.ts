/** Bodies are JSON in UTF-8 or nothing. An empty body is none, whatever its content type says. */
import { isUtf8 } from 'node:buffer';
import { Refusal } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Built on JSON: application/merge-patch+json and the like. */
const JSON_SUFFIX = /^application\/[\w.-]+\+json(;|$)/;

export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const readJson = async (_request: FastifyRequest, body: Buffer) => parseJson(body);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, readJson);
  app.addContentTypeParser(JSON_SUFFIX, { parseAs: 'buffer' }, readJson);
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    const type = request.headers['content-type']?.slice(0, 100);
    const message = type === undefined ? 'The body has no Content-Type.' : `The body is ${type}, not JSON.`;
    throw new Refusal('content_type_unsupported', message, { field: 'Content-Type' });
  });
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  // Decoding would replace broken bytes silently, and a job would run with another payload than was sent.
  if (!isUtf8(body)) throw new Refusal('body_not_json', 'The body is not valid UTF-8.');
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it cannot be read';
    throw new Refusal('body_not_json', `The body is not valid JSON: ${reason}.`, { cause: error });
  }
}
