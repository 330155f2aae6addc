import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query_instants } from '../../server/platform/http/lists/query_instant.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../harness.ts';
import type { TestOrganization } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = await everyRoute(harness.deps);
    own = await harness.newOrganization();
    id = (await newExport(own, {})).id;
  },
});
let own: TestOrganization;
let routes: RegisteredRoute[];
let id: string;

test('every instant in a query is bounded, by one schema', () => {
  let found = 0;
  for (const { method, path, query } of routes)
    for (const [name, schema] of Object.entries(query?.properties ?? {})) {
      if (schema.format !== 'date-time') continue;
      found += 1;
      assert.equal(schema.not_before, query_instants.earliest, `${method} ${path} ${name}`);
      assert.equal(schema.not_after, query_instants.latest, `${method} ${path} ${name}`);
    }
  assert.ok(found > 10, String(found));
});

test('an instant beyond the bounds is 400 under its name; the bounds are taken', async () => {
  const { key, project } = own;
  const base = `/api/projects/${project.id}/batch_exports/${id}/`;
  for (const path of [`${base}metrics/`, `${base}logs/`, '/api/users/@me/activity/'])
    for (const name of ['before', 'after']) {
      const ask = (at: string) =>
        harness.request('GET', `${path}?${name}=${encodeURIComponent(at)}`, { key });
      for (const [at, code] of [
        ['0001-01-01T00:00:00Z', 'min_value'],
        ['0001-02-01T00:00:00+00:01', 'min_value'],
        ['9999-12-31T00:00:00Z', 'max_value'],
        ['tomorrow', 'invalid_input'],
      ]) {
        const answer = await ask(at!);
        assert.equal(answer.status, 400, `${path} ${name} ${at}`);
        assert.deepEqual([answer.body.attr, answer.body.code], [name, code], `${path} ${at}`);
        assert.equal(answer.body.errors.length, 1);
      }
      for (const at of [query_instants.earliest, query_instants.latest]) {
        const { status, body } = await ask(at);
        // An `after` that lies in the future is a range that ends before it begins.
        if (status !== 200) assert.equal(body.attr, 'after', `${path} ${name} ${at}`);
      }
    }
});
