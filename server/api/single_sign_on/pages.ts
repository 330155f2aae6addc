import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color:#1d1d1f;background:#fff}dt{font-weight:600}dd{margin:0 0 .75rem;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1rem}small{color:#555}@media(prefers-color-scheme:dark){body{color:#eee;background:#161618}small{color:#aaa}a{color:#8ab4f8}}';
const style_hash = createHash('sha256').update(style).digest('base64');
const policy = `default-src 'none'; style-src 'sha256-${style_hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** A page: sentences, facts as pairs of name and value, and a form of one button that posts hidden fields. Everything in it is plain text. */
export type Page = {
  title: string;
  paragraphs: string[];
  facts?: [name: string, value: string][];
  form?: { action: string; button: string; fields: Record<string, string> };
};

/** Answers with the page. Everything in it is escaped; it loads nothing, runs nothing, is in no frame and is kept in no cache. */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers({ 'content-security-policy': policy, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' })
    .send(Buffer.from(htmlOf(page)));
}

function htmlOf({ title, paragraphs, facts = [], form }: Page): string {
  const list = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('');
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${style}</style></head>`,
    `<body><h1>${escaped(title)}</h1>${paragraphs.map((text) => `<p>${escaped(text)}</p>`).join('')}`,
    list === '' ? '' : `<dl>${list}</dl>`,
    form === undefined ? '' : formOf(form),
    '</body></html>',
  ].join('');
}

function formOf({ action, button, fields }: NonNullable<Page['form']>): string {
  const hidden = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`);
  return `<form method="post" action="${escaped(action)}">${hidden.join('')}<button>${escaped(button)}</button></form>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}
