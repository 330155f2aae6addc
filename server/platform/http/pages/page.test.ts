import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { html } from './html.ts';
import { sendPage } from './page.ts';
import { serveStylesheet, stylesheet_address } from './stylesheet.ts';

async function open(public_url: string) {
  const app = fastify();
  app.decorate('context', { config: { public_url } } as never);
  app.get('/page', (_request, reply) =>
    sendPage(reply, 200, { title: '</title><script>', body: html`<p>text</p>` }),
  );
  serveStylesheet(app);
  return app;
}

test('a page has no script, loads from here alone, is in no frame and no cache', async () => {
  const app = await open('https://example.com');
  const { headers, body } = await app.inject('/page');
  assert.equal(
    headers['content-security-policy'],
    "default-src 'none'; style-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
      "base-uri 'self'",
  );
  assert.deepEqual(
    [headers['referrer-policy'], headers['cache-control'], headers['x-content-type-options']],
    ['no-referrer', 'no-store', 'nosniff'],
  );
  assert.match(
    body,
    /<title>&lt;\/title&gt;&lt;script&gt; - Sluice<\/title>[^]*<h1>&lt;\/title&gt;&lt;script&gt;<\/h1>/,
  );
  assert.doesNotMatch(body, /<script|\sstyle=|<style/);
  await app.close();
});

test('the addresses of a page follow the base path', async () => {
  for (const [public_url, base] of [
    ['https://example.com', '/'],
    ['https://example.com/sluice', '/sluice/'],
  ] as const) {
    const app = await open(public_url);
    const { body } = await app.inject('/page');
    assert.ok(body.includes(`<base href="${base}" />`));
    for (const [, address] of body.matchAll(/<(?:a|link)[^>]* href="([^"]*)"/g))
      assert.doesNotMatch(address!, /^\/|:/);
    await app.close();
  }
});

test('the stylesheet is kept for ever under its address, else requested again', async () => {
  const app = await open('https://example.com');
  for (const [address, kept] of [
    [`/${stylesheet_address}`, 'public, max-age=31536000, immutable'],
    ['/assets/pages.css', 'no-cache'],
    ['/assets/pages.css?v=x', 'no-cache'],
  ] as const)
    assert.equal((await app.inject(address)).headers['cache-control'], kept);
  assert.ok((await app.inject('/page')).body.includes(`href="${stylesheet_address}"`));
  await app.close();
});
