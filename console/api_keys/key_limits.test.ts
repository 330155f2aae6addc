import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectChoices, whereItWorks } from './key_limits.ts';

const shop = { id: 'a', name: 'Shop', teams: [1, 2].map((id) => ({ id, name: `Web ${id}` })) };
const lab = { id: 'b', name: 'Lab', teams: [{ id: 3, name: 'Test' }] };

test('a key says where it works', () => {
  const cases: [string[], number[], string, string[]?][] = [
    [[], [], 'everywhere'],
    [[], [3], 'in project Test'],
    [[], [1, 3], 'in projects Web 1, Test'],
    [['a'], [], 'in organization Shop'],
    [['a', 'b'], [1], 'in project Web 1, and only in organizations Shop, Lab'],
    [[], [2, 9], 'in projects Web 2, 1 that you cannot see'],
    [['x', 'y'], [], 'in organizations 2 that you cannot see'],
    [[], [], 'from 10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    [[], [3], 'in project Test, and only from 10.0.0.0/8', ['10.0.0.0/8']],
  ];
  for (const [scoped_organizations, scoped_teams, words, allowed_ip_ranges = []] of cases) {
    const limits = { scoped_organizations, scoped_teams, allowed_ip_ranges };
    assert.equal(whereItWorks(limits, [shop, lab]), words);
  }
});

test('a project names its organization where there are more', () => {
  assert.deepEqual(projectChoices([lab]), [{ value: '3', label: 'Test' }]);
  assert.equal(projectChoices([shop, lab])[2]!.label, 'Test (Lab)');
});
