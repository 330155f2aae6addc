import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const overview = async (home: TestOrganization, query = '') =>
  (await home.ask('GET', `/api/projects/${home.project.id}/overview/${query}`)).body;

test('tags are stored, changed, found and counted, and change no delivery', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { name: 'one', tags: [' Finance ', 'nightly'] });
  await newExport(home, { name: 'two', tags: ['nightly'] });
  const plain = await newExport(home, { name: 'three' });
  const path = `${projectBase(home)}${id}/`;
  const stored = (await home.ask('GET', path)).body;
  assert.deepEqual(stored.tags, ['Finance', 'nightly']);
  assert.deepEqual((await home.ask('GET', `${projectBase(home)}${plain.id}/`)).body.tags, []);
  const { tags, results, count } = await overview(home, '?tag=nightly&ordering=name');
  assert.deepEqual(tags, [
    { tag: 'Finance', count: 1 },
    { tag: 'nightly', count: 2 },
  ]);
  assert.equal(count, 2);
  assert.deepEqual(
    results.map((one: { name: string; tags: string[] }) => [one.name, one.tags]),
    [
      ['one', ['Finance', 'nightly']],
      ['two', ['nightly']],
    ],
  );
  assert.equal((await overview(home, '?tag=night')).count, 0);
  const changed = (await home.ask('PATCH', path, { tags: ['billing'] })).body;
  assert.deepEqual([changed.tags, changed.next_run], [['billing'], stored.next_run]);
  // A PUT without tags leaves them.
  const { name, destination, interval } = changed;
  const put = (await home.ask('PUT', path, { name, destination, interval })).body;
  assert.deepEqual(put.tags, ['billing']);
  assert.deepEqual((await home.ask('PATCH', path, { tags: [] })).body.tags, []);
  const { body: timeline } = await home.ask('GET', `${path}timeline/`);
  assert.ok(JSON.stringify(timeline).includes('billing'));
  assert.deepEqual((await overview(home)).tags, [{ tag: 'nightly', count: 1 }]);
});

test('a wrong tag is refused by its place', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const refused = async (tags: unknown) => {
    const { status, body } = await home.ask('PATCH', `${projectBase(home)}${id}/`, { tags });
    assert.equal(status, 400, JSON.stringify(body));
    return [body.attr, body.code];
  };
  assert.deepEqual(await refused(['good', 'a,b']), ['tags__1', 'invalid_input']);
  assert.deepEqual(await refused(['  ']), ['tags__0', 'blank']);
  assert.deepEqual(await refused(['x'.repeat(51)]), ['tags__0', 'max_length']);
  assert.deepEqual((await refused(['same', 'same']))[0], 'tags');
  assert.deepEqual((await refused(Array.from({ length: 21 }, (_, at) => `t${at}`)))[0], 'tags');
  assert.deepEqual((await refused('word'))[0], 'tags');
  assert.deepEqual(await refused([3]), ['tags__0', 'invalid_input']);
});
