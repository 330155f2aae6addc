import type { FastifyReply } from 'fastify';
import { basePath } from '../base_path.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';
import { stylesheet_address } from './stylesheet.ts';

// Everything comes from this server. A page's URL can contain a token, so it is neither cached nor
// sent to another site.
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
    "base-uri 'self'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/**
 * A page: `body` is the content of `<main>`, below the title as its heading. Its URLs begin without
 * a slash: they are relative to the base path of the server.
 */
export type Page = { title: string; body: Html };

/**
 * Sends a page to a browser where no console can be shown, because a provider redirected it there.
 * It has no script, only loads this server's stylesheet, cannot be framed, sends no referrer and is
 * not cached.
 */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers(headers)
    .send(documentOf(page, basePath(reply.server.context)).text);
}

function documentOf({ title, body }: Page, base_path: string): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <base href="${base_path}/" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} - Sluice</title>
        <link rel="stylesheet" href="${stylesheet_address}" />
      </head>
      <body>
        <header><a href="./">Sluice</a></header>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
}
