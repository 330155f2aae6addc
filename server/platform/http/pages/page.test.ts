import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { fastify } from 'fastify';
import { readAsset } from './assets.ts';
import { html } from './html.ts';
import { sendPage } from './page.ts';
import type { Page } from './page.ts';

async function answer(page: Page): Promise<{ policy: unknown; text: string }> {
  const app = fastify();
  app.get('/', (_request, reply) => sendPage(reply, 200, page));
  const { headers, body } = await app.inject('/');
  await app.close();
  return { policy: headers['referrer-policy'], text: body };
}

test(
  'a page names itself to nobody, and one with a form of the browser to this server, which has ' +
    'to know where the form comes from',
  async () => {
    const body = html`<p>text</p>`;
    assert.equal((await answer({ title: 'A', body })).policy, 'no-referrer');
    assert.equal((await answer({ title: 'A', body, posts_form: true })).policy, 'same-origin');
  },
);

test('the title is text, and only a page with a script asks for JavaScript', async () => {
  const plain = await answer({ title: '</title><script>', body: html`<p>text</p>` });
  assert.match(
    plain.text,
    /<title>&lt;\/title&gt;&lt;script&gt; - Sluice<\/title>[^]*<h1>&lt;\/title&gt;&lt;script&gt;<\/h1>/,
  );
  assert.doesNotMatch(plain.text, /noscript|<script/);
  const script = {
    path: '/assets/a.js',
    address: '/assets/a.js?v=1',
    type: 'text/javascript',
    text: '',
  };
  const { text } = await answer({ title: 'A', body: html``, script });
  assert.match(text, /<script type="module" src="\/assets\/a\.js\?v=1"><\/script>[^]*<noscript>/);
});

test('the address of a script changes with its content and with that of its imports', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-assets-'));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return pathToFileURL(join(folder, name));
  };
  try {
    const main = write('main.js', "import { a } from './part.js';\n");
    const [one, other] = ['1', '2'].map((value) =>
      readAsset(write('part.js', `export const a = ${value};\n`)),
    );
    const [first, second] = [readAsset(main, [one!]), readAsset(main, [other!])];
    assert.equal(first.text, `import { a } from '${one!.address}';\n`);
    assert.equal(first.path, second.path);
    assert.equal(new Set([one, other, first, second].map((asset) => asset!.address)).size, 4);
    assert.equal(readAsset(main, [one!]).address, first.address);
    assert.throws(() => readAsset(write('page.html', '')), /neither a stylesheet nor a script/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
