import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { hiddenRoute } from '../hidden_route.ts';

const text = readFileSync(new URL('./pages.css', import.meta.url), 'utf8');
const path = '/assets/pages.css';
const version = hash('sha256', text, 'base64url').slice(0, 16);

/** URL of the stylesheet of all pages, relative to the base. It contains a hash of the content. */
export const stylesheet_address = `${path.slice(1)}?v=${version}`;

/**
 * Serves the stylesheet to everybody. Its full URL may be cached for ever; without the hash, it is
 * requested each time.
 */
export function serveStylesheet(app: FastifyInstance): void {
  app.get<{ Querystring: { v?: string } }>(
    path,
    hiddenRoute({ 200: ['text/css'] }),
    ({ query }, reply) =>
      reply
        .type('text/css; charset=utf-8')
        .header(
          'cache-control',
          query.v === version ? 'public, max-age=31536000, immutable' : 'no-cache',
        )
        .send(text),
  );
}
