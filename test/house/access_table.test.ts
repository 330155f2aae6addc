import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { shareHarness } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';
import { accessMarkdown, accessTable, access_columns, wantedStatus } from './access_table.ts';

const harness = shareHarness({
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter((route) => route.scope !== 'public');
  },
});
let routes: RegisteredRoute[];

test('every route answers as the decisions say, and docs/access.md shows it', async () => {
  const rows = await accessTable(harness, routes);
  const differing: string[] = [];
  for (const row of rows) {
    for (const column of access_columns) {
      const [found, wanted] = [row.cells[column], wantedStatus(row, column)];
      const isRight =
        wanted === undefined ? ![401, 403, 404, 500].includes(Number(found)) : found === wanted;
      if (found !== '' && !isRight)
        differing.push(
          `${row.route.method} ${row.route.path}, ${column}: ${found} instead of ` +
            `${wanted ?? 'what is allowed'}`,
        );
    }
  }
  assert.deepEqual(differing, []);
  // The answers about foreign objects and about missing ones have the same words.
  for (const { route, told } of rows)
    assert.deepEqual(told.foreign, told.missing, `${route.method} ${route.path}`);
  const table = accessMarkdown(rows);
  const page = await readFile(new URL('../../docs/access.md', import.meta.url), 'utf8');
  assert.ok(page.includes(table), `docs/access.md is not current; the table is now:\n${table}`);
});
