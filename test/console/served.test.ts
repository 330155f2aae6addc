import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { readAsset, openBuild, built_console } from '../../server/api/console/build.ts';
import { shareHarness } from '../harness.ts';
import type { Answer } from '../harness.ts';

const harness = shareHarness({ clickhouse: false });

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const get = (path: string, headers: Record<string, string> = {}) =>
  harness.request('GET', path, { headers });
const assetsOf = ({ text }: Answer) =>
  [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => `/${match[1]}`);

test('every address outside of the API is the console, under a strict policy', async () => {
  for (const path of [
    '/',
    '/login',
    '/account',
    '/projects/1/exports',
    '/invite/x?token=y',
    '/x',
  ]) {
    const { status, headers, text } = await get(path, html);
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], path);
    const nonce = /<meta property="csp-nonce" nonce="([\w+/]{24})"/.exec(text)![1]!;
    assert.equal(
      headers['content-security-policy'],
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
        "connect-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; " +
        "frame-ancestors 'none'; base-uri 'self'",
    );
    assert.deepEqual(
      [headers['referrer-policy'], headers['cache-control'], headers['x-content-type-options']],
      ['no-referrer', 'no-cache', 'nosniff'],
    );
    assert.doesNotMatch(
      text,
      /<script(?! type="module")|<script[^>]*>[^<]|\son\w+=|\sstyle=|<style/,
    );
    for (const [, address] of text.matchAll(/(?:src|href)="([^"]*)"/g))
      assert.match(address!, /^(?:\.\/|\/$)/, path);
  }
  const nonces = await Promise.all([get('/', html), get('/', html)]);
  assert.notEqual(nonces[0].text, nonces[1].text, 'no nonce is used twice');
});

test('a request for data, or for the API, gets no page', async () => {
  for (const [path, headers] of [
    ['/x', {}],
    ['/login', { accept: 'application/json' }],
    ['/api/x/', html],
    ['/api', html],
    ['/docs/x', {}],
    ['/assets/x.js', html],
    ['/assets/..%2findex.html', html],
    ['/assets/..%2f..%2fmain.tsx', html],
    ['/complete/x/', html],
  ] as const) {
    const { status, headers: answered } = await get(path, headers);
    assert.deepEqual(
      [status, answered['content-type']],
      [404, 'application/problem+json; charset=utf-8'],
      path,
    );
  }
  for (const path of ['/login', '/account', '/'])
    assert.equal((await harness.request('POST', path, { body: {}, headers: html })).status, 404);
});

test('files are kept for ever, and come compressed as the browser takes them', async () => {
  const assets = assetsOf(await get('/', html));
  assert.ok(
    ['.js', '.css', '.woff2'].every((ending) => assets.some((path) => path.endsWith(ending))),
  );
  for (const path of assets) {
    assert.match(path, /-[\w-]{8}\.(?:js|css|svg|woff2)$/, 'the name has the hash');
    const { status, headers } = await get(path);
    assert.deepEqual(
      [status, headers['cache-control'], headers['vary'], headers['content-encoding']],
      [200, 'public, max-age=31536000, immutable', 'accept-encoding', undefined],
    );
  }
  const name = assets.find((path) => path.endsWith('.js'))!.slice('/assets/'.length);
  const plain = (await readAsset(built_console, name))!.bytes;
  for (const [accepted, encoding, unpack] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
  ] as const) {
    assert.equal(
      (await get(`/assets/${name}`, { 'accept-encoding': accepted })).headers['content-encoding'],
      encoding,
    );
    assert.deepEqual(unpack((await readAsset(built_console, name, accepted))!.bytes), plain);
  }
});

test('without a build there is a page that says what to do, and no file', async () => {
  const missing = openBuild('/nowhere');
  assert.equal(await missing.readPage('index'), undefined);
  assert.equal(await readAsset(missing, 'main-12345678.js'), undefined);
  const { readPage } = built_console;
  Object.assign(built_console, { readPage: () => Promise.resolve(undefined) });
  try {
    const { status, text } = await get('/', html);
    assert.equal(status, 503);
    assert.match(text, /not built[^]*npm run prepare/);
  } finally {
    Object.assign(built_console, { readPage });
  }
});
