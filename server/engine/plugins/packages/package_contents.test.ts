import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assemblePackage, checkPackage, contentSha256 } from './content.ts';
import { faultOf } from '../../../../test/factories/plugins/manifests.ts';

test('the content hash tells packages apart and not the order of their files', () => {
  const files = { a: 'b', c: 'd' };
  assert.match(contentSha256(files), /^[0-9a-f]{64}$/);
  assert.equal(contentSha256(files), contentSha256({ c: 'd', a: 'b' }));
  const others: Record<string, string>[] = [
    { a: 'bc', d: '' },
    { a: 'b' },
    { ab: '', c: 'd' },
    { a: 'b', c: 'd', e: '' },
    { a: 'b1 1\ncd' },
    {},
  ];
  assert.equal(
    new Set([files, ...others].map((item) => contentSha256(item))).size,
    others.length + 1,
  );
});

test('entry files, and what each collection needs', () => {
  const manifest = { 'plugin.json': '{"name":"A"}' };
  const cases: [
    Record<string, string>,
    'pipeline_destinations' | 'pipeline_frontend_apps' | 'pipeline_import_apps',
    RegExp | undefined,
  ][] = [
    [{ ...manifest, 'index.js': '' }, 'pipeline_destinations', undefined],
    [{ 'index.ts': '' }, 'pipeline_import_apps', undefined],
    [{ ...manifest, 'index.mjs': '' }, 'pipeline_destinations', undefined],
    [
      { 'plugin.json': '{"name":"A","main":"dist"}', 'dist/index.js': '' },
      'pipeline_destinations',
      undefined,
    ],
    [
      { ...manifest, 'package.json': '{"main":"dist/a.js"}', 'dist/a.js': '' },
      'pipeline_destinations',
      undefined,
    ],
    [
      { ...manifest, 'package.json': '{"main":"dist/a.js"}', 'a.js': '' },
      'pipeline_destinations',
      /no code/,
    ],
    [{ ...manifest, 'site.ts': '' }, 'pipeline_frontend_apps', undefined],
    [{ ...manifest, 'frontend.tsx': '' }, 'pipeline_frontend_apps', undefined],
    [{ ...manifest, 'index.js': '' }, 'pipeline_frontend_apps', /site\.ts/],
    [{ ...manifest, 'site.ts': '' }, 'pipeline_destinations', /no code/],
    [{ 'plugin.json': '{', 'index.js': '' }, 'pipeline_destinations', /not JSON/],
    [{}, 'pipeline_destinations', /empty/],
    [{ '../index.js': '' }, 'pipeline_destinations', /leads out/],
    [{ 'index.js': '\0' }, 'pipeline_destinations', /not text/],
    [{ 'index.js': '\ud800' }, 'pipeline_destinations', /not text/],
    [{ 'index.js': '', 'INDEX.js': '' }, 'pipeline_destinations', /two entries/],
    [{ 'index.js': 'x'.repeat(101 * 1024 * 1024) }, 'pipeline_destinations', /larger than 100 MiB/],
    [
      Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`${index}.js`, ''])),
      'pipeline_destinations',
      /more than 2000 files/,
    ],
  ];
  for (const [files, collection, reason] of cases) {
    if (reason === undefined) checkPackage(files, collection);
    else assert.match(faultOf(() => checkPackage(files, collection)).message, reason);
  }
});

test('package.json says where code begins when nothing else does', () => {
  const mainOf = (files: Record<string, string>) =>
    assemblePackage({ 'plugin.json': '{"name":"A"}', ...files }, null).manifest.main;
  const built = { 'package.json': '{"main":"./dist/a.js"}', 'dist/a.js': '' };
  assert.equal(mainOf(built), './dist/a.js');
  assert.equal(mainOf({ ...built, 'index.ts': '' }), null);
  assert.equal(mainOf({ 'package.json': '{"main":"index.js"}', 'site.ts': '' }), null);
});

test('a plugin.json elsewhere is named', () => {
  const fault = faultOf(() => assemblePackage({ 'a/b/plugin.json': '{}', 'a/index.ts': '' }, null));
  assert.match(fault.message, /but "a\/b\/plugin\.json"/);
});

test('a package without a tag of its origin is named by version and content', () => {
  const files = { 'plugin.json': '{"name":"A","version":"1.0.0"}' };
  const hash = contentSha256(files);
  assert.equal(assemblePackage(files, null).tag, `1.0.0+${hash.slice(0, 12)}`);
  assert.equal(assemblePackage(files, 'v1').tag, 'v1');
  assert.match(assemblePackage({ 'plugin.json': '{"name":"A"}' }, null).tag!, /^[0-9a-f]{12}$/);
});
