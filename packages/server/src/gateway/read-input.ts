/** Strict input: a body is JSON in UTF-8 or absent (an empty one counts as absent), and a query is valid UTF-8. */
import { isUtf8 } from 'node:buffer';
import { Refusal } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { claimantOf } from '../shared-limit/shared-limit.ts';
import { type LargeBodies, SMALL_BODY_BYTES } from './large-bodies.ts';

/** Built on JSON: application/merge-patch+json and the like. */
const JSON_SUFFIX = /^application\/[\w.-]+\+json(;|$)/;

/** largeBodies: left out: they are read as they come. */
export function readJsonBodies(app: FastifyInstance, largeBodies?: Pick<LargeBodies, 'turn'>): void {
  app.removeAllContentTypeParsers();
  type Done = (error: Error | null, value?: unknown) => void;
  // Calls back: a promise for each body would cost as much as reading it.
  const readJson = (request: FastifyRequest, body: Buffer, done: Done) => {
    const { caller } = request;
    const isSmall = body.length <= SMALL_BODY_BYTES && !request.routeOptions.config.isReadInTurn;
    if (isSmall || !caller || !largeBodies) return readNow(body, done);
    largeBodies.turn(claimantOf(caller)).then(() => readNow(body, done), done);
  };
  const readNow = (body: Buffer, done: Done) => {
    let value: unknown;
    try {
      value = parseJson(body);
    } catch (error) {
      return done(error as Error);
    }
    done(null, value);
  };
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, readJson);
  app.addContentTypeParser(JSON_SUFFIX, { parseAs: 'buffer' }, readJson);
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    const type = request.headers['content-type']?.slice(0, 100);
    const message = type === undefined ? 'The body has no Content-Type.' : `The body is ${type}, not JSON.`;
    throw new Refusal('content_type_unsupported', message, { field: 'Content-Type' });
  });
}

/** Deeper than any body that is accepted: a payload of 64 levels, in a job, in a batch. */
const DEPTH_MAX = 100;

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  // Decoding would replace invalid bytes silently, and a job would run with another payload than was sent.
  if (!isUtf8(body)) throw new Refusal('body_not_json', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  if (hasMoreBracketsThan(text, DEPTH_MAX) && isDeeperThan(body, DEPTH_MAX)) {
    throw new Refusal('body_too_deep', `The body is nested deeper than ${DEPTH_MAX} levels.`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it cannot be read';
    throw new Refusal('body_not_json', `The body is not valid JSON: ${reason}.`, { cause: error });
  }
}

/** A body is nested no deeper than it has brackets, and most have few: only the others are scanned byte by byte. */
function hasMoreBracketsThan(text: string, max: number): boolean {
  const bracket = /[[{]/g;
  for (let count = 0; count <= max; count += 1) if (!bracket.test(text)) return false;
  return true;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from(
  '"\\[]{}',
) as unknown as [number, ...number[]];

/** Scans brackets before JSON.parse builds objects: a megabyte of them would become half a million objects. */
function isDeeperThan(body: Buffer, depthMax: number): boolean {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < body.length; i += 1) {
    const byte = body[i];
    if (inText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

/** Percent signs that encode no UTF-8 would be replaced silently, and the query would select something else. */
export function requireReadableQuery(url: string): void {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return;
  try {
    decodeURIComponent(url.slice(start + 1));
  } catch (error) {
    throw new Refusal('field_invalid', 'The query is not valid: percent signs must spell UTF-8.', {
      cause: error,
    });
  }
}
