import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fields } from '../../platform/fields.ts';
import { project } from './kinds/project.ts';
import { notice_target } from './kinds/notice_target.ts';
import { candidateOf, compare, driftOf, versionOf } from './compare.ts';
import type { Fingerprint, Placed, Wanted } from './read.ts';
import { joinSecrets } from './secret_values.ts';
import type { SecretWanted } from './secret_values.ts';

const fingerprint: Fingerprint = (_kind, id, path, value) => `${id} ${path} ${String(value)}`;

const wants = (
  fields: Fields,
  more: Partial<Wanted> = {},
  secrets: Record<string, SecretWanted> = {},
): Wanted => ({
  kind: project,
  key: 'web',
  path: 'projects.web',
  parent_path: '',
  was: undefined,
  fields,
  secrets,
  is_reference: false,
  is_faulty: false,
  ...more,
});

type Applied = { fields?: Fields; source?: string; secrets?: Record<string, string> };

const stands = (
  fields: Fields,
  applied?: Applied,
  { secrets = {}, key = 'web', id = '1', kind = project } = {},
): Placed => ({
  id,
  parent_id: '',
  name: 'Web',
  fields,
  secrets,
  kind,
  key,
  path: `${kind.section}.${key}`,
  managed:
    applied === undefined
      ? undefined
      : {
          kind: kind.name,
          object_id: id,
          parent_id: '',
          key,
          source: applied.source ?? 'default',
          commit_id: null,
          fields: applied.fields ?? fields,
          secrets: applied.secrets ?? {},
          applied_at: '2026-01-01T00:00:00Z',
        },
});

const name = { name: 'Web' };
const is_managed = {};

const steps: [string, Wanted, Placed | undefined, [string, string[]] | undefined][] = [
  ['what is not there is created', wants(name), undefined, ['create', ['name']]],
  ['what agrees needs nothing', wants(name), stands(name, is_managed), undefined],
  ['a field that is not named counts for nothing', wants({}), stands(name, is_managed), undefined],
  ['a field', wants({ name: 'A' }), stands(name, is_managed), ['change', ['name']]],
  ['what nobody manages is taken over', wants(name), stands(name), ['adopt', []]],
  [
    'what another source manages is taken over',
    wants({ name: 'A' }),
    stands(name, { source: 'other' }),
    ['adopt', ['name']],
  ],
  [
    'another key is a move, also with another field',
    wants({ name: 'A' }, { was: 'site' }),
    stands(name, is_managed, { key: 'site' }),
    ['move', ['name']],
  ],
  [
    'another secret, without its value',
    wants({}, {}, { token: { value: 'new' } }),
    stands({}, is_managed, { secrets: { token: 'old' } }),
    ['change', ['token']],
  ],
  [
    'a secret that is kept, or not known here, differs from nothing',
    wants({}, {}, { one: { keep: true }, other: { reference: 'env X' } as never }),
    stands({}, is_managed, { secrets: { one: 'old' } }),
    undefined,
  ],
];

for (const [title, wanted, standing, expected] of steps)
  test(`steps: ${title}`, () => {
    const found = candidateOf({ wanted, standing }, 'default');
    const shown = found && [found.action, found.changes.map(({ field }) => field)];
    assert.deepEqual(shown, expected);
    assert.doesNotMatch(JSON.stringify(found?.changes ?? []), /new|old/);
  });

const applied = (fields: Fields): Applied => ({ fields });
const drifts: [string, Wanted, Placed, string[]][] = [
  ['nothing was touched', wants({ name: 'A' }), stands(name, applied(name)), []],
  ['a field was', wants(name), stands({ name: 'By hand' }, applied(name)), ['name']],
  ['the files say the same by now', wants({ name: 'H' }), stands({ name: 'H' }, applied(name)), []],
  ['a field that was never applied', wants(name), stands({ name: 'H' }, applied({})), []],
  ['nobody manages it', wants(name), stands({ name: 'By hand' }), []],
  [
    'a secret was',
    wants({}, {}, { token: { value: 'a' } }),
    stands({}, { secrets: { token: '1 token a' } }, { secrets: { token: 'b' } }),
    ['token'],
  ],
  [
    'a secret is as it was applied, and the files have a new one',
    wants({}, {}, { token: { value: 'new' } }),
    stands({}, { secrets: { token: '1 token a' } }, { secrets: { token: 'a' } }),
    [],
  ],
];

for (const [title, wanted, standing, expected] of drifts)
  test(`drift: ${title}`, () => {
    const found = driftOf({ wanted, standing }, fingerprint)?.changes ?? [];
    assert.deepEqual(
      found.map(({ field }) => field),
      expected,
    );
  });

test('a version changes with what a plan looked at, and with nothing else', () => {
  const wanted = wants(name);
  const of = (standing: Placed) => versionOf({ wanted, standing }, fingerprint);
  const before = of(stands({ ...name, timezone: 'UTC' }, is_managed));
  assert.equal(of(stands({ ...name, timezone: 'Asia/Tokyo' }, is_managed)), before);
  for (const other of [
    stands({ name: 'A', timezone: 'UTC' }, is_managed),
    stands(name, { source: 'other' }),
    stands(name, is_managed, { key: 'site' }),
    stands(name, is_managed, { secrets: { token: 'a' } }),
  ])
    assert.notEqual(of(other), before);
});

test('judging: objects found by key or name, objects left over, and rival claims', () => {
  const web = stands(name, is_managed);
  const old = stands({ name: 'Old' }, is_managed, { key: 'old', id: '2' });
  const strange = stands({ name: 'S' }, { source: 'other' }, { key: 'strange', id: '3' });
  const target = stands({}, is_managed, { key: 'mail', id: '4', kind: notice_target });
  const of = (objects: Wanted[], sections: string[]) =>
    compare({
      configuration: { objects, sections: new Set(sections), left_out: [], violations: [] },
      state: { objects: [web, old, strange, target], gone: [] },
      source: { name: 'default', commit: null },
      fingerprint,
    });
  const first = of([wants(name)], ['projects']);
  assert.equal(first.pairs[0]!.standing, web);
  // Objects of its own source are left over, but only in sections that the files have.
  assert.deepEqual(
    first.left.map(({ key }) => key),
    ['old'],
  );
  assert.deepEqual(Object.keys(first.versions), ['projects.web', '- projects.old']);
  assert.deepEqual(of([wants(name)], []).left, []);
  const moved = wants({}, { key: 'new', path: 'projects.new', was: 'old' });
  assert.deepEqual(
    of([moved], ['projects']).candidates.map(({ action, moved_from }) => [action, moved_from]),
    [['move', 'projects.old']],
  );
  const again = wants({}, { key: 'old', path: 'projects.old' });
  assert.deepEqual(
    of([moved, again], ['projects']).violations.map(({ attr, code }) => [attr, code]),
    [['configuration__projects__old__was', 'unique']],
  );
});

test('judging: keys that were each other are looked at once each, and circles found', () => {
  const of = (moves: readonly [key: string, was: string][]) =>
    compare({
      configuration: {
        objects: moves.map(([key, was]) => wants({}, { key, path: `projects.${key}`, was })),
        sections: new Set(),
        left_out: [],
        violations: [],
      },
      state: { objects: [], gone: [] },
      source: { name: 'default', commit: null },
      fingerprint,
    }).violations.map(({ attr }) => attr?.split('__')[2]);
  const ring = [
    ['d', 'a'],
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
    ['s', 's'],
  ] as const;
  assert.deepEqual(of(ring.map(([key, was]) => [key, was])).toSorted(), ['a', 'b', 'c', 's']);
  const began = process.cpuUsage();
  assert.deepEqual(of(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, `k${at + 1}`])), []);
  const { user } = process.cpuUsage(began);
  assert.ok(user < 1_000_000, `${user} us for a line of 5,000 keys`);
});

test('a secret goes back into its own object, under a name with dots too', () => {
  const fields = { config: { photo: { file_name: 'a' } }, 'a.b': {} };
  const secrets = {
    url: 1,
    'config.key': 2,
    'config.photo.contents': 3,
    'config.api.key': 4,
    'config.__proto__': 5,
    'config.__proto__.x': 6,
    'constructor.prototype.x': 7,
  };
  const joined = joinSecrets(fields, secrets);
  assert.equal(
    JSON.stringify(joined),
    '{"config":{"photo":{"file_name":"a","contents":3},"key":2,"api.key":4,"__proto__":5,' +
      '"__proto__.x":6},"a.b":{},"url":1,"constructor.prototype.x":7}',
  );
  assert.equal(JSON.stringify(fields), '{"config":{"photo":{"file_name":"a"}},"a.b":{}}');
  assert.equal(({} as { x?: unknown }).x, undefined);
});
