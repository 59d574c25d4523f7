/**
 * Serves the page: its files for ever, since their names change with their content, and the document for every other path, since
 * the page itself knows its addresses. The policy lets in nothing but its own scripts and what the document marks.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DashboardFile, DashboardFiles } from './dashboard-files.ts';

/** Where the server writes where the page is, and the mark of its styles. */
const HEAD = '<!--head-->';
const FOR_EVER = 'public, max-age=31536000, immutable';
const NAMED_BY_CONTENT = /^assets\//;
/** A worker of the page is bound by the policy of its own file, not by that of the document. */
const WORKER_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";

type Answer = (request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Answers what shows the document, for requests that no route takes; undefined where a request does not ask for a page.
 * `address`: the public URL of the gateway, empty when only the request knows it.
 */
export function serveDashboard(
  app: FastifyInstance,
  { dashboard, address }: { dashboard: DashboardFiles; address: string },
): (otherwise: Answer) => Answer {
  const base = address === '' ? '/' : `${new URL(address).pathname.replace(/\/+$/, '')}/`;
  for (const [path, file] of dashboard.files)
    app.get(`/${path}`, (request, reply) => {
      reply.header('cache-control', NAMED_BY_CONTENT.test(path) ? FOR_EVER : 'no-cache');
      if (path.endsWith('.js')) reply.header('content-security-policy', WORKER_POLICY);
      return sendFile(file, request, reply);
    });

  const [before = '', after = ''] = dashboard.document.split(HEAD);
  const showDocument: Answer = (_request, reply) => {
    const nonce = randomBytes(16).toString('base64url');
    reply
      .code(200)
      .headers({
        'cache-control': 'no-store',
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy(nonce),
      })
      .send(`${before}<base href="${escaped(base)}"><meta name="style-nonce" content="${nonce}">${after}`);
  };
  app.get('/', showDocument);
  return (otherwise) => (request, reply) =>
    asksForPage(request) ? showDocument(request, reply) : otherwise(request, reply);
}

function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function asksForPage({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');
}

function sendFile(file: DashboardFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = String(headers['accept-encoding'] ?? '');
  reply.header('content-type', file.type).header('vary', 'accept-encoding');
  if (file.br && /\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(file.br);
  if (file.gzip && /\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(file.gzip);
  return reply.send(file.body);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
