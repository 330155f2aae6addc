import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { openVisitor } from '../../../test/console/visitor.ts';
import { shareChromium } from '../../../test/processes/chromium.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import {
  packageFiles,
  publishedPlugin,
  setPluginsLevel,
} from '../../../test/factories/plugins/plugins.ts';
import { enabledPlugin } from '../../../test/factories/plugins/running_plugins.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

const fields = [
  { key: 'text', type: 'string', site: true, default: 'standard' },
  { key: 'second', type: 'string', site: true, default: 'filled' },
  { key: 'inner', type: 'string' },
  { key: 'token', type: 'string', secret: true, site: true },
];
const shows = (mark: string) => `
  export function inject({ config }: { config: Record<string, string> }) {
    const bar = document.createElement('p');
    bar.textContent = '${mark} ' + JSON.stringify(config);
    document.body.append(bar);
  }`;
const config = { text: "</script> 'quoted'", inner: 'not for pages', token: 'never-for-pages' };

const chromium = shareChromium();
const { skip } = chromium;

let harness: Harness;
let home: TestOrganization;
let address: string;
let base: string;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  harness.deps.config.public_url = address;
  home = await harness.newOrganization();
  base = `/api/projects/${home.project.id}/site_apps/`;
});
after(async () => {
  await chromium.close();
  await harness.close();
});

const show = async () => (await home.ask('GET', base)).body;
const load = async (path?: string, headers: Record<string, string> = {}) =>
  fetch(path ?? (await show()).url, { headers });

test('a script of no apps, of enabled ones, and the same tag until something changes', async () => {
  const empty = await load();
  assert.deepEqual([empty.status, await empty.text(), (await show()).apps], [200, '', []]);
  assert.equal(empty.headers.get('content-type'), 'application/javascript; charset=utf-8');
  const { url, id } = await enabledPlugin(harness, home, 'pipeline_frontend_apps', shows('one'), {
    fields,
    config,
  });
  const full = await load();
  const [text, etag] = [await full.text(), full.headers.get('etag')!];
  assert.match(text, /"second":"filled"/);
  assert.doesNotMatch(text, /not for pages|never-for-pages/);
  assert.match(full.headers.get('cache-control')!, /^public, max-age=\d+/);
  assert.equal(full.headers.get('access-control-allow-origin'), '*');
  assert.equal((await load(undefined, { 'if-none-match': `W/${etag}` })).status, 304);
  assert.deepEqual(
    (await show()).apps.map((app: { id: number }) => app.id),
    [id],
  );
  await home.ask('PATCH', url, { config: { text: 'other' } });
  const changed = await load(undefined, { 'if-none-match': etag });
  assert.equal(changed.status, 200);
  assert.match(await changed.text(), /"text":"other"/);
  await home.ask('PATCH', url, { enabled: false });
  assert.equal(await (await load()).text(), '');
});

test('the address can be changed; old and wrong ones lead nowhere, level 0 has none', async () => {
  const before = await show();
  assert.equal((await home.ask('POST', `${base}rotate/?validate_only=true`)).status, 200);
  const broken = { key: home.key, body: '{' };
  assert.equal((await harness.request('POST', `${base}rotate/`, broken)).status, 400);
  assert.equal((await show()).site_token, before.site_token);
  const after = (await home.ask('POST', `${base}rotate/`)).body;
  assert.notEqual(after.site_token, before.site_token);
  assert.equal(after.url, `${address}/site_apps/${after.site_token}.js`);
  for (const path of [
    before.url,
    `${address}/site_apps/${after.site_token}`,
    `${address}/site_apps/${home.project.api_token}.js`,
    `${address}/site_apps/%00.js`,
  ])
    assert.equal((await load(path)).status, 404, path);
  assert.equal((await load(after.url)).status, 200);
  const other = await harness.newOrganization();
  assert.equal((await other.ask('GET', base)).status, 404);
  const member = await harness.newMember(home.organization.id, 1);
  assert.equal((await member.ask('POST', `${base}rotate/`)).status, 403);
  await setPluginsLevel(harness, home, 0);
  assert.equal((await home.ask('GET', base)).status, 403);
  assert.equal((await home.ask('POST', `${base}rotate/`)).status, 403);
  assert.equal(await (await load(after.url)).text(), '');
  await setPluginsLevel(harness, home, 9);
});

test('an app of another organization stays the one that was accepted', async () => {
  const beta = await harness.newOrganization();
  const { id, url } = await publishedPlugin(
    harness,
    beta,
    'pipeline_frontend_apps',
    packageFiles('pipeline_frontend_apps', { config: fields }, { 'site.ts': shows('first') }),
  );
  const configs = `/api/projects/${home.project.id}/plugin_configs/`;
  const made = await home.ask('POST', configs, { plugin: id, enabled: true });
  const config = `${configs}${made.body.id}/`;
  const first = await load();
  const etag = first.headers.get('etag')!;
  assert.match(await first.text(), /first/);
  const source = { 'site.ts': shows('second') };
  assert.equal((await beta.ask('PATCH', `${url}update_source/`, { source })).status, 200);
  const other = [{ key: 'text', type: 'string', site: true, default: 'of beta' }];
  assert.equal((await beta.ask('PATCH', url, { config_schema: other })).status, 200);
  assert.equal((await load(undefined, { 'if-none-match': etag })).status, 304);
  assert.equal((await home.ask('POST', `${config}accept_version/`)).status, 200);
  assert.match(await (await load()).text(), /second[^]*of beta/);
  await home.ask('DELETE', config);
});

test('code that was changed in the database is not served, and its config says why', async () => {
  const kept = await enabledPlugin(harness, home, 'pipeline_frontend_apps', shows('kept'), {
    fields,
  });
  const { url, id } = await enabledPlugin(
    harness,
    home,
    'pipeline_frontend_apps',
    shows('original'),
    { fields },
  );
  await harness.deps.db.run(sql`
    UPDATE plugin_versions SET code = replace(code::text, 'original', 'injected')::json
      WHERE plugin_id = (SELECT plugin_id FROM plugin_configs WHERE id = ${id})`);
  const text = await (await load()).text();
  assert.match(text, /kept/);
  assert.doesNotMatch(text, /original|injected/);
  const after = (await home.ask('GET', url)).body;
  assert.equal(after.enabled, false);
  assert.match(after.error.message, /differs from the installed code/);
  await home.ask('DELETE', kept.url);
});

test('a page of another site runs the apps in order, even if one fails', { skip }, async () => {
  const browser = await chromium.open();
  const faults = [
    'throw new Error("while it is loaded"); export const inject = () => {};',
    'export function inject() { throw new Error("in inject"); }',
    'export async function inject() { await null; throw new Error("later"); }',
    'export const nothing = 1;',
  ];
  await enabledPlugin(harness, home, 'pipeline_frontend_apps', shows('last'), {
    fields,
    order: 9,
  });
  for (const fault of faults)
    await enabledPlugin(harness, home, 'pipeline_frontend_apps', fault, { fields, order: 2 });
  await enabledPlugin(harness, home, 'pipeline_frontend_apps', shows('first'), {
    fields,
    config,
    order: 1,
  });
  const { url } = await show();
  const site = await openSite(`<!doctype html><body><script src="${url}"></script></body>`);
  const { page, context, complaints } = await openVisitor(browser, site.address);
  try {
    await page.goto('/');
    const lines = await page.locator('p').allTextContents();
    assert.deepEqual(lines, [
      `first ${JSON.stringify({ text: config.text, second: 'filled' })}`,
      `last ${JSON.stringify({ text: 'standard', second: 'filled' })}`,
    ]);
    const told = complaints.filter((line) => line.startsWith('Site app'));
    assert.deepEqual(
      told.map((line) => /while it is loaded|in inject|later/.exec(line)?.[0]),
      ['while it is loaded', 'in inject', 'later'],
    );
  } finally {
    await context.close();
    await site.close();
  }
});

async function openSite(html: string): Promise<{ address: string; close(): Promise<void> }> {
  const server: Server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(html),
  );
  await listen(server);
  return {
    address: urlOf(server),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
