import type { FastifyReply } from 'fastify';
import { readAsset } from './assets.ts';
import type { Asset } from './assets.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** How every page looks. */
export const stylesheet: Asset = readAsset(new URL('./pages.css', import.meta.url));

// Everything comes from this server and goes back to it. A page's address can hold a token, so it
// is kept nowhere and told to no other site.
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action " +
    "'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/**
 * A page: `body` is what stands in `<main>`, under the title as its heading. `posts_form`: it has a
 * form that the browser sends without a script, and names itself to this server for that; else
 * browsers would hide that the form comes from here, and it would be refused as one of another
 * site.
 */
export type Page = { title: string; body: Html; script?: Asset; posts_form?: boolean };

/**
 * Answers with a page, which loads nothing but the stylesheet and its script from this server, is
 * in no frame, names itself to no other site and is kept in no cache.
 */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  const policy = page.posts_form === true ? 'same-origin' : 'no-referrer';
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers({ ...headers, 'referrer-policy': policy })
    .send(documentOf(page).text);
}

function loading(script: Asset): Html {
  return html`<script type="module" src="${script.address}"></script>`;
}

const without_script = html`<noscript>
  <p class="fault">This page needs JavaScript: allow it for this site, then load the page again.</p>
</noscript>`;

function documentOf({ title, body, script }: Page): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} - Sluice</title>
        <link rel="stylesheet" href="${stylesheet.address}" />
        ${script === undefined ? undefined : loading(script)}
      </head>
      <body>
        <header><a href="/">Sluice</a></header>
        <main>
          <h1>${title}</h1>
          ${script === undefined ? undefined : without_script} ${body}
        </main>
        <footer><a href="/docs/">Documentation of the API</a></footer>
      </body>
    </html> `;
}
