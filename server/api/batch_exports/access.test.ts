import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { is_deep } from '../../../test/depth.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test(
  'strangers, other projects and unknown ids get 404, keys without the scope 403, and nothing ' +
    'changes',
  async () => {
    const home = await harness.newOrganization();
    const stranger = await harness.newOrganization();
    const created = await newExport(home);
    const run = await insertRunRow(harness, created.id, { status: 'Failed' });
    const second = await home.ask('POST', '/api/projects/', {
      name: 'Second',
      organization: home.organization.id,
    });
    const reader = await harness.newMember(home.organization.id, 1, ['batch_export:read']);
    const other = await harness.newMember(home.organization.id, 1, [
      'organization:write',
      'plugin:write',
    ]);
    const backfill = '01939393-0000-7000-8000-000000000001';
    const reads = ['', 'logs/', 'runs/', `runs/${run}/`, `runs/${run}/logs/`, 'backfills/'];
    const writes = [
      'test/',
      'preview/',
      'pause/',
      'unpause/',
      'backfill/',
      `runs/${run}/cancel/`,
      `runs/${run}/retry/`,
      `backfills/${backfill}/cancel/`,
    ];
    const hidden: [string, string][] = [
      [`${projectBase(home)}${created.id}/`, stranger.key],
      [`${organizationBase(home)}${created.id}/`, stranger.key],
      [`${projectBase(stranger)}${created.id}/`, stranger.key],
      [`${organizationBase(stranger)}${created.id}/`, stranger.key],
      [`/api/projects/${second.body.id}/batch_exports/${created.id}/`, home.key],
      [`${projectBase(home)}${backfill}/`, home.key],
      [`${projectBase(home)}nonsense/`, home.key],
      [`${projectBase(home)}%00/`, home.key],
      [`/api/projects/99999999999999999999/batch_exports/${created.id}/`, home.key],
    ];
    const routes: [string, string, { body?: string }][] = [
      ...reads.map((path): [string, string, object] => ['GET', path, {}]),
      ...writes.map((path): [string, string, object] => ['POST', path, { body: '{' }]),
      ...['PATCH', 'PUT', 'DELETE'].map((method): [string, string, object] => [method, '', {}]),
    ];
    // Each route at a third of the addresses in turn, so that each address has a third of them.
    for (const [row, [url, key]] of hidden.entries())
      for (const [column, [method, path, sent]] of routes.entries())
        if (is_deep || (row + column) % 3 === 0)
          assert.equal(
            (await harness.request(method, `${url}${path}`, { key, ...sent })).status,
            404,
            `${method} ${url}${path}`,
          );
    for (const base of [projectBase(home), organizationBase(home)]) {
      const url = `${base}${created.id}/`;
      for (const path of reads) {
        assert.equal((await reader.ask('GET', `${url}${path}`)).status, 200, path);
        assert.equal((await other.ask('GET', `${url}${path}`)).status, 403, path);
        assert.equal((await harness.request('GET', `${url}${path}`)).status, 401, path);
      }
      for (const path of writes)
        assert.equal((await reader.ask('POST', `${url}${path}`)).status, 403, path);
      for (const method of ['PATCH', 'PUT', 'DELETE'])
        assert.equal((await reader.ask(method, url)).status, 403, method);
      const ids = [backfill, 'nonsense', '7', '%00'];
      const parts = [
        ['GET', 'runs/:id/'],
        ['GET', 'runs/:id/logs/'],
        ['GET', 'runs/:id/receipt/'],
        ['GET', 'backfills/:id/'],
        ['POST', 'runs/:id/cancel/'],
        ['POST', 'runs/:id/retry/'],
        ['POST', 'backfills/:id/cancel/'],
      ] as const;
      // In turn as well: each id that is none is asked for at every second route.
      for (const [row, id] of ids.entries())
        for (const [column, [method, path]] of parts.entries())
          if (is_deep || (row + column) % 2 === 0)
            assert.equal(
              (await home.ask(method, `${url}${path.replace(':id', id)}`)).status,
              404,
              `${method} ${path} ${id}`,
            );
    }
    assert.deepEqual(
      {
        ...(await home.ask('GET', `${projectBase(home)}${created.id}/`)).body,
        latest_runs: [],
      },
      created,
    );
  },
);
