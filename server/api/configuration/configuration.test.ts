import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';

let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  home = await harness.newOrganization();
});
after(() => harness.close());

const url = (path: string, at = home) =>
  `/api/organizations/${at.organization.id}/configuration/${path}`;
const plan = (configuration: unknown, more: object = {}, at = home) =>
  harness.request('POST', url('plan/', at), { key: at.key, body: { configuration, ...more } });
const apply = (hash: string, at = home) =>
  harness.request('POST', url('apply/', at), { key: at.key, body: { hash } });

test('from empty to applied', async () => {
  const configuration = {
    organization: { name: 'Acme' },
    projects: {
      web: {
        name: 'Web shop',
        write_keys: { site: { name: 'Site' } },
        batch_exports: {
          rows: {
            name: 'Rows',
            interval: 'hour',
            destination: {
              type: 'Postgres',
              config: {
                user: 'u',
                password: { secret: 'pl4nted-secret-1' },
                host: 'h',
                database: 'd',
              },
            },
          },
        },
        notice_targets: {
          ops: { type: 'email', address: 'a@example.com', batch_exports: ['rows'] },
        },
      },
    },
  };
  const first = await plan(configuration);
  const applied = await apply(first.body.hash);
  const second = await plan(configuration);
  const pulled = await harness.request('GET', url(''), { key: home.key });
  assert.ok(second.body.is_empty);
});
