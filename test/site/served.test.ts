import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { brotliDecompressSync } from 'node:zlib';
import { built_site, readSiteFile } from '../../server/api/console/site.ts';
import { aroundTests } from '../around_tests.ts';
import { openHarness } from '../harness.ts';
import { shareChromium } from '../processes/chromium.ts';
import { builtText } from './built_site.ts';

const html = { accept: 'text/html,*/*;q=0.8' };
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
  "base-uri 'none'";

let address: string;
const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    address = await opened.app.listen({ host: '127.0.0.1', port: 0 });
  },
);
const chromium = shareChromium();
const { skip } = chromium;
let browser: Browser;
before(async () => {
  if (skip === false) browser = await chromium.open();
});
after(() => chromium.close());

const get = (path: string, headers: Record<string, string> = html) =>
  harness.request('GET', path, { headers });

test('each page of the docs is sent under its path, with a strict policy', async () => {
  for (const [path, file] of [
    ['/docs/', 'index.html'],
    ['/docs/errors', 'errors.html'],
    ['/docs/errors/throttled', 'errors/throttled.html'],
    ['/docs/errors/throttled.html', 'errors/throttled.html'],
    ['/docs/destinations/', 'destinations/index.html'],
  ] as const) {
    const { status, headers, text } = await get(path);
    assert.deepEqual(
      [status, headers['content-type'], headers['content-security-policy']],
      [200, 'text/html; charset=utf-8', policy],
      path,
    );
    assert.deepEqual([headers['cache-control'], text], ['no-cache', builtText(file)], path);
  }
  const { status, headers } = await get('/docs');
  assert.deepEqual([status, headers['location']], [308, '/docs/']);
});

test('the name of a file, and a folder with or without its slash, lead to the page', async () => {
  for (const [path, page] of [
    ['errors.md', 'errors'],
    ['README.md', ''],
    ['destinations/README.md', 'destinations/'],
    ['destinations', 'destinations/'],
    ['errors/throttled/', 'errors/throttled'],
  ] as const) {
    const { status, headers } = await get(`/docs/${path}`);
    assert.deepEqual([status, headers['location']], [308, `/docs/${page}`], path);
  }
  for (const path of ['nothing.md', 'nothing/'])
    assert.equal((await get(`/docs/${path}`)).status, 404, path);
});

test('files of a page are kept for ever, and come packed to those who take it', async () => {
  const { text } = await get('/docs/');
  const paths = [...text.matchAll(/"(?:\.\/)?(assets\/[^"]+)"/g)].map(([, path]) => path!);
  assert.ok(
    paths.some((path) => path.endsWith('.js')) && paths.some((path) => path.endsWith('.css')),
  );
  for (const path of new Set(paths)) {
    const { status, headers } = await get(`/docs/${path}`);
    assert.deepEqual(
      [status, headers['cache-control'], headers['vary'], headers['content-encoding']],
      [200, 'public, max-age=31536000, immutable', 'accept-encoding', undefined],
      path,
    );
    const [plain, packed] = [await readSiteFile(path), await readSiteFile(path, 'gzip, br')];
    if (packed!.encoding === 'br')
      assert.deepEqual(brotliDecompressSync(packed!.bytes), plain!.bytes);
  }
});

test('a path without a file is a page for people, and an error for programs', async () => {
  for (const [path, up] of [
    ['/docs/nothing', ''],
    ['/docs/errors/nothing?a=/', '../'],
    ['/docs/no/such/', '../../'],
  ] as const) {
    const { status, headers, text } = await get(path);
    assert.deepEqual([status, headers['content-type']], [404, 'text/html; charset=utf-8'], path);
    assert.equal(text.replaceAll(`="${up}`, '="'), builtText('404.html').replaceAll('="./', '="'));
    const files = [...text.matchAll(/ (?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
    assert.ok(files.length > 3);
    for (const file of new Set(files)) {
      const { pathname } = new URL(file, `http://a.test${path}`);
      assert.equal((await get(pathname)).status, 200, `${path} ${file}`);
    }
  }
  for (const path of [
    'nothing',
    '..%2f..%2fpackage.json',
    '.built_from',
    'errors/..%2fapi',
    'a//b',
  ])
    assert.equal((await get(`/docs/${path}`, {})).status, 404, path);
});

test('a wrong path shows the tasks and the search, at any depth', { skip }, async () => {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  for (const path of ['nothing', 'errors/nothing']) {
    await page.goto(`${address}/docs/${path}`, { waitUntil: 'networkidle' });
    await page.getByText('Page not found').waitFor();
    await page.getByRole('button', { name: 'Search' }).first().waitFor();
    await page.getByRole('navigation').getByText('Destinations', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'All tasks' }).click();
    await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor();
  }
  assert.deepEqual(faults, []);
  await page.close();
});

test('without a build there is a page that says what to do', async () => {
  const { folder } = built_site;
  built_site.folder = '/nowhere';
  try {
    const { status, text } = await get('/docs/');
    assert.equal(status, 503);
    assert.match(text, /not built[^]*npm run prepare/);
  } finally {
    built_site.folder = folder;
  }
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`a person reads, searches and moves on in ${colorScheme}`, { skip }, async () => {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(address) && !request.url().startsWith('data:'))
        faults.push(request.url());
    });
    try {
      await page.goto(`${address}/docs/`, { waitUntil: 'networkidle' });
      await page.getByRole('button', { name: 'Search' }).first().click();
      await page.getByRole('searchbox').fill('throttled');
      await page.getByRole('option').first().click();
      await page.getByRole('heading', { name: 'Error throttled' }).waitFor();
      await page.getByRole('link', { name: 'My export fails', exact: true }).last().click();
      await page.getByRole('heading', { level: 1, name: 'My export fails' }).waitFor();
      await page.locator('pre').first().waitFor();
      const colours = await page.evaluate(() =>
        [...document.querySelectorAll('pre code span')].map((part) => getComputedStyle(part).color),
      );
      assert.ok(new Set(colours).size > 2, 'code has colours');
      const isDark = await page.evaluate(() => document.documentElement.className.includes('dark'));
      assert.equal(isDark, colorScheme === 'dark');
      assert.deepEqual(faults, []);
      await page.getByRole('link', { name: 'API', exact: true }).first().click();
      await page.waitForURL(`${address}/docs/operations/index.html`);
    } finally {
      await context.close();
    }
  });
