import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
let home: TestOrganization;

const validate = (
  body: unknown,
  project: string | number = home.project.id,
  key = home.key,
): Promise<Answer> =>
  harness.request('POST', `/api/projects/${project}/query/validate/`, { key, body });

test('a query that an export can have is answered with its columns', async () => {
  const { status, body } = await validate({
    query: 'SELECT uuid, properties.plan AS plan, timestamp FROM events',
  });
  assert.equal(status, 200);
  assert.deepEqual(body, {
    is_valid: true,
    model: 'events',
    is_row_wise: true,
    columns: [
      { name: 'uuid', type: 'uuid', nullable: false },
      { name: 'plan', type: 'text', nullable: true },
      { name: 'timestamp', type: 'timestamp', nullable: false },
    ],
    errors: [],
  });
  const grouped = await validate(
    { query: 'SELECT properties.plan, count() AS n FROM persons GROUP BY 1', model: 'persons' },
    '@current',
  );
  assert.deepEqual(
    [grouped.body.model, grouped.body.is_row_wise, grouped.body.columns.length],
    ['persons', false, 2],
  );
});

test('a query with errors is answered with all of them', async () => {
  const { status, body } = await validate({ query: 'SELECT evnt,\n  lenght(event) FROM events' });
  assert.equal(status, 200);
  const { errors, ...rest } = body;
  assert.deepEqual(rest, { is_valid: false, model: 'events', is_row_wise: false, columns: [] });
  const places = errors.map(({ detail, ...place }: { detail: string }) => {
    assert.match(detail, /^There is no /);
    return place;
  });
  assert.deepEqual(places, [
    { line: 1, column: 8, length: 4, piece: 'evnt', suggestion: 'event' },
    { line: 2, column: 3, length: 6, piece: 'lenght', suggestion: 'length' },
  ]);
  for (const query of [
    '',
    'x'.repeat(70_000),
    "SELECT event FROM events WHERE match(event, '[')",
    "SELECT * FROM file('/etc/passwd')",
  ]) {
    const refused = await validate({ query });
    assert.deepEqual(
      [refused.status, refused.body.is_valid, refused.body.errors.length],
      [200, false, 1],
      query.slice(0, 100),
    );
  }
});

test('the query of the page about groups is right', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/groups.md'), 'utf8');
  const queries = [...page.matchAll(/^```\n(SELECT[^`]*)```$/gm)].map(([, text]) => text);
  assert.equal(queries.length, 1);
  for (const query of queries) {
    const { body } = await validate({ query });
    assert.deepEqual(body.errors, [], query);
  }
});

test('a body without a question about a query is a 400', async () => {
  for (const [body, attr] of [
    [{}, 'query'],
    [{ query: null }, 'query'],
    [{ query: 'SELECT event FROM events', model: 'cohorts' }, 'model'],
    ['[]', null],
  ]) {
    const refused = await validate(body);
    assert.deepEqual([refused.status, refused.body.attr], [400, attr]);
  }
});

test('it needs the scope that reads exports, and a project of the caller', async () => {
  const question = { query: 'SELECT event FROM events' };
  const reader = await harness.newKey(home.user, { scopes: ['batch_export:read'] });
  assert.equal((await validate(question, home.project.id, reader)).status, 200);
  const other = await harness.newKey(home.user, { scopes: ['project:write'] });
  assert.equal((await validate(question, home.project.id, other)).status, 403);
  const stranger = await harness.newOrganization();
  assert.equal((await validate(question, home.project.id, stranger.key)).status, 404);
});

test('the language lists its tables, their columns, and its functions', async () => {
  const { status, body } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/query/language/`,
  );
  assert.equal(status, 200);
  for (const { name, columns } of body.tables) {
    const listed = columns.map((column: { name: string }) => column.name).join(', ');
    const { body: checked } = await validate({
      query: `SELECT ${listed} FROM ${name}`,
      model: name,
    });
    assert.deepEqual(checked.errors, [], name);
    assert.deepEqual(
      checked.columns.map((column: { name: string; type: string }) => [column.name, column.type]),
      columns.map((column: { name: string; type: string }) => [column.name, column.type]),
    );
  }
  assert.deepEqual(
    body.tables.map(({ name }: { name: string }) => name),
    ['events', 'persons', 'person_distinct_ids', 'sessions', 'groups'],
  );
  const names = body.functions.map(({ name }: { name: string }) => name);
  assert.ok(names.includes('toFloat64') && names.includes('count') && names.includes('row_number'));
});
