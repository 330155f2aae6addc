import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const stepsOf = ({ body }: Answer) => body.steps.map(({ action, path }: any) => [action, path]);
const first = { source: { name: 'first' }, prune: true };
const second = { source: { name: 'second' }, prune: true };
const platform = { projects: { web: { name: 'Web', write_keys: { site: { name: 'Site' } } } } };
const target = { type: 'email', address: 'team@example.com' };
const team = { projects: { web: { notice_targets: { mail: target } } } };

test('two sources in one project have nothing to do after both were applied', async () => {
  const config = await openConfigurations(harness);
  await config.put(platform, first);
  const applied = await config.put(team, second);
  assert.deepEqual(
    applied.body.objects.map(({ action, path }: any) => [action, path]),
    [['create', 'projects.web.notice_targets.mail']],
  );
  for (const [files, source] of [
    [platform, first],
    [team, second],
    [platform, first],
  ] as const) {
    const planned = await config.plan(files, source);
    const { is_empty, left, notes, drift } = planned.body;
    assert.deepEqual([is_empty, left, notes, drift], [true, [], [], []], source.source.name);
    assert.equal((await config.apply(planned.body.hash)).status, 200);
  }
  assert.equal((await config.plan(team, second)).body.summary.unchanged, 1);
  // Neither prunes what the other one has.
  const emptied = await config.plan({ projects: { web: { notice_targets: {} } } }, second);
  assert.deepEqual(stepsOf(emptied), [['delete', 'projects.web.notice_targets.mail']]);
  const without = await config.plan({ projects: {} }, second);
  assert.deepEqual([without.body.is_empty, without.body.left], [true, []]);
});

test('a project that is referred to has to exist; none is created by mistake', async () => {
  const config = await openConfigurations(harness);
  const refused = await config.plan(team, second);
  assert.deepEqual(
    [refused.status, refused.body.errors.map(({ attr }: any) => attr)],
    [400, ['configuration__projects__web']],
  );
  assert.match(refused.body.detail, /No project has the key web\..*give its name/);
  // One that nobody manages yet is found by the key that its name would give.
  const found = await config.plan({
    projects: { default_project: { notice_targets: { mail: target } } },
  });
  assert.deepEqual(stepsOf(found), [['create', 'projects.default_project.notice_targets.mail']]);
  // An entry that says nothing at all is a slip, and `was` needs the project's own fields.
  for (const entry of [{}, { was: 'web', notice_targets: {} }]) {
    const empty = await config.plan({ projects: { other: entry } });
    assert.deepEqual(
      [empty.status, empty.body.attr],
      [400, 'configuration__projects__other__name'],
    );
  }
});

test('a source learns how to take an object over', async () => {
  const config = await openConfigurations(harness);
  await config.put(platform, first);
  const planned = await config.plan(platform, second);
  assert.deepEqual(
    planned.body.notes.map(({ code, path }: any) => [code, path]),
    [
      ['taken_over', 'projects.web'],
      ['taken_over', 'projects.web.write_keys.site'],
    ],
  );
  assert.match(planned.body.notes[0].detail, /^The configuration first manages this.*sections/);
  // Taken over and then only referred to, it goes back with the next apply of the first.
  await config.put(platform, second);
  await config.put(team, { source: second.source });
  await config.put(platform, first);
  assert.equal((await config.plan(team, { source: second.source })).body.is_empty, true);
  assert.equal((await config.plan(platform, first)).body.is_empty, true);
});

test('a project in which another source applied something is not pruned', async () => {
  const config = await openConfigurations(harness);
  const inside = { write_keys: { site: { name: 'Site' } } };
  await config.put(
    { projects: { web: { name: 'Web', ...inside } } },
    { source: { name: 'first' } },
  );
  // The second one takes the project over, and has nothing in it.
  const second = { source: { name: 'second' }, prune: true };
  await config.put({ projects: { web: { name: 'Web' } } }, second);
  const held = await config.plan({ projects: {} }, second);
  assert.deepEqual([held.status, held.body.steps], [201, []]);
  const [left, ...more] = held.body.left;
  assert.deepEqual([left.path, more], ['projects.web', []]);
  assert.match(left.detail, /it stays, because the configuration first manages something in it\.$/);
  const emptied = { projects: { web: { name: 'Web', write_keys: {} } } };
  await config.put(emptied, { source: { name: 'first' }, prune: true });
  await config.put({ projects: { web: { name: 'Web' } } }, second);
  const pruned = await config.plan({ projects: {} }, second);
  assert.deepEqual(stepsOf(pruned), [['delete', 'projects.web']]);
});
