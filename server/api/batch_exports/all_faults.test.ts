import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attrsOf, organizationBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('one answer names the faults of all checks: schema, destination, rules, project', async () => {
  const home = await harness.newOrganization();
  const config = { prefix: '/a', max_file_size_mb: 0, compression: 'lz4' };
  const body = {
    name: '',
    interval: 'hour',
    team_id: 999_999,
    destination: { type: 'File', config },
  };
  const answer = await home.ask('POST', organizationBase(home), body);
  assert.equal(answer.status, 400);
  const faults = [
    'destination__config__compression invalid_choice',
    'destination__config__max_file_size_mb min_value',
    'destination__config__prefix invalid_input',
    'name blank',
    'team_id invalid_input',
  ];
  assert.deepEqual(attrsOf(answer), faults);
});

test('an impossible project number finds no project, instead of the oldest', async () => {
  const home = await harness.newOrganization();
  const team_id = 1e300;
  for (const [path, body] of [
    ['batch_exports', { name: 'x', interval: 'hour', destination: { type: 'NoOp', config: {} } }],
    ['notice_targets', { type: 'email', address: 'a@example.com' }],
  ] as const) {
    const answer = await home.ask('POST', `/api/organizations/${home.organization.id}/${path}/`, {
      ...body,
      team_id,
    });
    assert.deepEqual([answer.status, attrsOf(answer)], [400, ['team_id invalid_input']], path);
  }
});
