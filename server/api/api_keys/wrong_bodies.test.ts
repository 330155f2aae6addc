import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import {
  createKey,
  newPerson,
  list_of_keys as list,
} from '../../../test/factories/people/signed_in.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

const at = (ms: number) => new Date(ms).toISOString();

test('wrong bodies: every violation is named', async () => {
  // The first project of the server, which cases name, is the stranger's.
  const stranger = await newPerson(harness);
  const person = await newPerson(harness);
  const { organization, project } = person;
  const cases: [Record<string, unknown>, string[]][] = [
    [{ label: undefined }, ['label required']],
    [{ label: ' ' }, ['label blank']],
    [{ label: 'x'.repeat(101) }, ['label max_length']],
    [{ label: null }, ['label null']],
    [{ scopes: undefined }, ['scopes required']],
    [{ scopes: [] }, ['scopes min_items']],
    [{ scopes: '*' }, ['scopes not_a_list']],
    [
      { scopes: ['project:read', 'project:delete', 'x', 5, 'project:read'] },
      [
        'scopes__1 invalid_choice',
        'scopes__2 invalid_choice',
        'scopes__3 invalid_choice',
        'scopes__4 unique',
      ],
    ],
    [{ scopes: Array.from({ length: 9_000 }, () => 1) }, ['scopes max_items']],
    [{ scoped_organizations: null }, ['scoped_organizations null']],
    [
      {
        scoped_organizations: [
          organization.id,
          stranger.organization.id,
          'x',
          organization.id.toUpperCase(),
        ],
      },
      [
        'scoped_organizations__2 invalid_input',
        'scoped_organizations__3 unique',
        'scoped_organizations__1 invalid_choice',
      ],
    ],
    [
      { scoped_teams: [project.id, stranger.project.id, 0, 2_147_483_648, 1.5, '1', project.id] },
      [
        'scoped_teams__2 min_value',
        'scoped_teams__3 max_value',
        'scoped_teams__4 invalid_input',
        'scoped_teams__5 invalid_input',
        'scoped_teams__6 unique',
        'scoped_teams__1 invalid_choice',
      ],
    ],
    [{ expires_at: '2031-01-01T00:00:00' }, ['expires_at invalid_input']],
    [{ expires_at: at(now) }, ['expires_at invalid_input']],
    [{ expires_at: 5 }, ['expires_at invalid_input']],
    [
      { label: '', scopes: [], scoped_teams: [1, 1], expires_at: '2020-01-01T00:00:00Z' },
      [
        'label blank',
        'scopes min_items',
        'scoped_teams__1 unique',
        'expires_at invalid_input',
        'scoped_teams__0 invalid_choice',
        'scoped_teams__1 invalid_choice',
      ],
    ],
  ];
  const { id } = await createKey(person);
  for (const [fields, expected] of cases) {
    const body = { label: 'x', scopes: ['*'], ...fields };
    for (const [method, path] of [
      ['POST', list],
      ['PUT', `${list}${id}/`],
    ] as const) {
      const answer = await person.ask(method, path, body);
      assert.equal(answer.status, 400, JSON.stringify(fields).slice(0, 200));
      assert.deepEqual(
        faultsOf(answer).sort(),
        expected.toSorted(),
        `${method} ${JSON.stringify(fields).slice(0, 200)}`,
      );
    }
  }
  assert.deepEqual(
    faultsOf(await person.ask('PATCH', `${list}${id}/`, { expires_at: '2020-01-01T00:00:00Z' })),
    ['expires_at invalid_input'],
  );
  for (const body of ['[]', 'null', '"x"', '5', '{'])
    assert.equal((await person.ask('POST', list, body)).status, 400, body);
});
