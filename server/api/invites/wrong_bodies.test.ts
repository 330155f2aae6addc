import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  address,
  base,
  harness,
  invite,
  list,
  openAroundTests,
} from '../../../test/factories/people/invites_around_tests.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

openAroundTests();

test('wrong bodies name every field', async () => {
  const { organization, key } = await harness.newOrganization();
  const target_email = address();
  const cases: [unknown, string[]][] = [
    [undefined, ['target_email required']],
    [[], [' invalid_input']],
    [{ target_email: null }, ['target_email null']],
    [{ target_email: '' }, ['target_email blank']],
    [{ target_email: 5 }, ['target_email invalid_input']],
    [{ target_email, first_name: null }, ['first_name null']],
    [{ target_email, first_name: 'x'.repeat(31) }, ['first_name max_length']],
    [{ target_email, message: 'x'.repeat(2001) }, ['message max_length']],
    [{ target_email, level: 2 }, ['level invalid_choice']],
    [{ target_email, level: '1' }, ['level invalid_choice']],
    [{ target_email, level: null }, ['level null']],
    [
      { target_email: 'x', first_name: 1, level: 9, message: false },
      [
        'target_email invalid_input',
        'first_name invalid_input',
        'level invalid_choice',
        'message invalid_input',
      ],
    ],
    [{ target_email: `${'x'.repeat(64)}@${'y'.repeat(186)}.com` }, ['target_email max_length']],
    [{ target_email, first_name: 'Grace\n\nYour account is locked' }, ['first_name invalid_input']],
    [
      '{"target_email":"a\\u0000@example.com","level":2,"first_name":"\\ud800","message":5}',
      [
        'target_email null_characters_not_allowed',
        'first_name invalid_input',
        'level invalid_choice',
        'message invalid_input',
      ],
    ],
  ];
  for (const wrong of [
    'a',
    'a@',
    '@example.com',
    'a@b',
    'a b@example.com',
    'a@example.com, b@example.com',
    'A <a@example.com>',
    'a@exa mple.com',
    `${'x'.repeat(65)}@example.com`,
  ])
    cases.push([{ target_email: wrong }, ['target_email invalid_input']]);
  for (const [body, wanted] of cases) {
    const answer = await invite(organization.id, key, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.deepEqual(faultsOf(answer), wanted, JSON.stringify(body));
  }
  const nul = await invite(organization.id, key, '{"target_email":"a\\u0000@example.com"}');
  assert.deepEqual([nul.status, nul.body.code], [400, 'null_characters_not_allowed']);
  assert.equal((await list(organization.id, key)).count, 0);
  const widest = {
    target_email: `${'x'.repeat(64)}@${'y'.repeat(185)}.com`,
    first_name: '👩'.repeat(30),
    message: 'é'.repeat(2000),
  };
  assert.equal((await invite(organization.id, key, widest)).status, 201);
});

test('an item with more faults than are listed is a 400, at any address', async () => {
  const { organization, key } = await harness.newOrganization();
  const unknown = Object.fromEntries(
    Array.from({ length: 1_500 }, (_, index) => [`x${index}`, '\ud800']),
  );
  for (const target_email of [undefined, null, 5, [], address()])
    for (const body of [{ ...unknown, target_email }, [{ ...unknown, target_email }]]) {
      const path = Array.isArray(body) ? 'bulk/' : '';
      const url = `${base(organization.id)}${path}`;
      assert.equal((await harness.request('POST', url, { key, body })).status, 400);
    }
});
