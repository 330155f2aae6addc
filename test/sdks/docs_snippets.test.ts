import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { aroundTests } from '../around_tests.ts';
import { eventually } from '../eventually.ts';
import { storedEvents } from '../factories/events/stored_events.ts';
import { openHarness } from '../harness.ts';
import { root } from '../house/source_files.ts';
import { shareChromium } from '../processes/chromium.ts';
import { listen, urlOf } from '../servers/loopback.ts';

/** A whole program of a page of docs/sdks/: a block that imports its package. */
type Snippet = { name: string; code: string; is_for_browsers: boolean };

const folder = join(root, 'node_modules/.cache/sluice/snippets');
const for_browsers =
  /from '(?:posthog-js|@segment\/analytics-next|@rudderstack\/analytics-js\/bundled|@jitsu\/js|@snowplow\/browser-tracker)'/;

const snippets: Snippet[] = globSync('docs/sdks/*.md', { cwd: root })
  .toSorted()
  .flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```js\n(import [\s\S]*?)^```/gm)].map(
      ([, code], index) => ({
        name: `${basename(page, '.md')}_${index + 1}`,
        code: code!,
        is_for_browsers: for_browsers.test(code!),
      }),
    ),
  );

let address: string;
const harness = aroundTests(openHarness, async (opened) => {
  address = await opened.app.listen({ host: '127.0.0.1', port: 0 });
});
const chromium = shareChromium();
const { skip } = chromium;
let browser: Browser;
before(async () => {
  if (skip === false) browser = await chromium.open();
});
after(() => chromium.close());

test('each page of an SDK has a program', () => {
  const pages = new Set(snippets.map(({ name }) => name.replace(/_\d+$/, '')));
  assert.equal(pages.size, globSync('docs/sdks/*.md', { cwd: root }).length);
  assert.ok(snippets.filter(({ is_for_browsers }) => is_for_browsers).length >= 5);
});

/** Runs a program in Node until it is stopped. */
function runInNode(name: string, code: string): () => Promise<void> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], { stdio: 'inherit' });
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

/** Runs a program in a page of a shop until it is closed. */
async function runInBrowser(code: string): Promise<() => Promise<void>> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'silent',
  });
  const script = outputFiles[0]!.text;
  const shop = createServer((request, response) => {
    const isScript = request.url === '/program.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript ? script : '<!doctype html><script type="module" src="/program.js"></script>',
    );
  });
  await listen(shop);
  const context = await browser.newContext();
  const page = await context.newPage();
  // A machine that reaches only itself is offline to its browser, and then clients wait.
  await page.addInitScript(
    "Object.defineProperty(Navigator.prototype, 'onLine', { get: () => true })",
  );
  await page.goto(urlOf(shop));
  return async () => {
    await context.close();
    shop.close();
    shop.closeAllConnections();
  };
}

for (const { name, code, is_for_browsers } of snippets)
  test(
    `the program ${name} of docs/sdks/ sends what it says`,
    { skip: is_for_browsers && skip, timeout: 90_000 },
    async () => {
      const { project } = await harness.newOrganization();
      const own = code
        .replaceAll('https://sluice.example.com', address)
        .replaceAll('slp_...', project.api_token)
        // A browser without a window is a robot to posthog-js, which then sends nothing.
        .replace('api_host:', 'opt_out_useragent_filter: true, api_host:');
      assert.notEqual(own, code);
      const stop = is_for_browsers ? await runInBrowser(own) : runInNode(name, own);
      try {
        await eventually('No event came.', async () => {
          const events = await storedEvents(harness.deps, project.id);
          const bought = events.find(({ event }) => event === 'bought');
          return bought !== undefined && JSON.parse(bought.properties).price === 12.5;
        });
      } finally {
        await stop();
      }
    },
  );
