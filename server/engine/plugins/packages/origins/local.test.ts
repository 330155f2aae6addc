import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { rejectsAs as refused } from '../../../../../test/factories/plugins/plugin_origins.ts';
import { readCatalogue } from '../catalogue.ts';
import { openLocalOrigin } from './local.ts';
import { folderAroundTests } from '../../../../../test/around_tests.ts';

const { signal } = new AbortController();
const folder = folderAroundTests();
const plugin_dir = join(folder, 'plugins');
mkdirSync(plugin_dir);

const local = (name: string) => openLocalOrigin(name, plugin_dir);
const place = (name: string) => join(plugin_dir, name);

test('local: a folder of the plugin folder, and nothing beyond it', async () => {
  await mkdir(join(place('good'), 'node_modules', 'x'), { recursive: true });
  await writeFile(join(place('good'), 'plugin.json'), '{"name":"Good","version":"1.0.0"}');
  await writeFile(join(place('good'), 'index.js'), 'one');
  await symlink('/etc/passwd', join(place('good'), 'node_modules', 'x', 'passwd'));
  const first = await local('good').fetch(null, signal);
  assert.deepEqual(first.files, {
    'plugin.json': '{"name":"Good","version":"1.0.0"}',
    'index.js': 'one',
  });
  assert.match(first.tag!, /^1\.0\.0\+[0-9a-f]{12}$/);
  assert.equal(await local('good').findLatest(signal), first.tag);
  await writeFile(join(place('good'), 'index.js'), 'two');
  assert.notEqual(await local('good').findLatest(signal), first.tag);
  await symlink('/etc/passwd', join(place('good'), 'passwd'));
  await refused(local('good').fetch(null, signal), 'invalid', /"passwd", which is a link/);
  await mkdir(join(folder, 'outside'));
  await writeFile(join(folder, 'outside', 'plugin.json'), '{"name":"Outside"}');
  await symlink(join(folder, 'outside'), place('escape'));
  await symlink(place('loop'), place('loop'));
  await writeFile(place('file'), '');
  await mkdir(place('empty'));
  for (const name of ['escape', 'loop', 'missing', 'missing/deeper', 'file/deeper'])
    await refused(local(name).fetch(null, signal), 'not_found', /no folder/);
  await refused(local('empty').fetch(null, signal), 'invalid', /empty/);
  await refused(local('file').fetch(null, signal), 'not_found', /no folder/);
  for (const name of ['', '.', '..', '../outside', '/etc', 'good/../../outside', 'a\0b', 'a\\b'])
    assert.throws(() => local(name), {
      name: 'PluginError',
      code: 'invalid',
      message: /folder in the server's plugin folder/,
    });
  await refused(
    openLocalOrigin('good', join(folder, 'none')).fetch(null, signal),
    'not_found',
    /no folder/,
  );
});

test('the catalogue: our own, one of the operator, and wrong ones', async () => {
  const own = readCatalogue(undefined);
  assert(own.length >= 5);
  const entry = {
    name: 'A',
    description: 'B',
    url: 'counter',
    collection: 'pipeline_destinations' as const,
    maintainer: 'official' as const,
  };
  const write = async (content: string) => {
    await writeFile(join(folder, 'catalogue.json'), content);
    return join(folder, 'catalogue.json');
  };
  assert.deepEqual(readCatalogue(await write(JSON.stringify([{ ...entry, more: 1 }]))), [
    { ...entry, category: null },
  ]);
  for (const [content, reason] of [
    ['{', /cannot be read/],
    ['{}', /must be a list/],
    [JSON.stringify([entry, entry]), /the name A occurs twice; the url counter occurs twice/],
    [JSON.stringify([7]), /entry 1: must be an object/],
    [
      JSON.stringify([
        { ...entry, name: '', url: 7, collection: 'x', maintainer: 'y', description: null },
      ]),
      /entry 1: name .*; .*description .*; .*url .*; .*collection .*; .*maintainer/,
    ],
  ] as const) {
    const path = await write(content);
    assert.throws(() => readCatalogue(path), reason);
  }
  assert.throws(() => readCatalogue(join(folder, 'none.json')), /none\.json cannot be read/);
});
