import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { events } from '../../model/models/events.ts';
import { persons } from '../../model/models/persons.ts';
import type { Dataset, Field } from './api.ts';
import type { BigQueryConfig } from './config.ts';
import { quoted } from './config.ts';
import { JobError, bigQueryError } from './faults.ts';
import { textsQuery } from '../sql_tables/prepare.ts';
import { showScript } from './statements.ts';
import { bigQueryColumnFaults, jsonColumns, newTable, requireColumns, textOf } from './table.ts';

const config: BigQueryConfig = {
  project_id: 'my-project',
  dataset_id: 'd',
  table_id: 'my events',
  private_key: 'key',
  private_key_id: 'id-of-key',
  token_uri: 'https://tokens.example.com/',
  client_email: 'account@my-project.iam.gserviceaccount.com',
};
const column = (
  name: string,
  type: Column['type'] = 'text',
  more: Partial<Column> = {},
): Column => ({ name, type, nullable: true, expression: name, ...more });

const receipt = [
  'INSERT INTO `my-project`.`d`.`sluice_receipts` (`delivery_id`, `batch_export_id`, ' +
    '`run_id`, `table_name`, `records`, `manifest`, `delivered_at`)',
  'VALUES (@delivery_id, @batch_export_id, @run_id, @table_name, @records, @manifest, ' +
    'CURRENT_TIMESTAMP());',
];

test('events are inserted together with their receipt', () => {
  const layout = {
    model: 'events' as const,
    columns: [column('uuid', 'uuid'), column('properties', 'json')],
  };
  assert.equal(
    showScript(config, layout, { tables: ['s0', 's1'], json_columns: new Set(['properties']) }),
    [
      'BEGIN TRANSACTION;',
      'INSERT INTO `my-project`.`d`.`my events` (`uuid`, `properties`)',
      'SELECT `uuid`, IF(`properties` IS NULL, NULL, IFNULL(SAFE.PARSE_JSON(`properties`), ' +
        'TO_JSON(`properties`))) AS `properties`',
      'FROM (SELECT * FROM `my-project`.`d`.`s0`',
      'UNION ALL SELECT * FROM `my-project`.`d`.`s1`);',
      ...receipt,
      'COMMIT TRANSACTION;',
    ].join('\n'),
  );
  assert.equal(
    showScript(config, layout, { tables: [], json_columns: new Set() }),
    ['BEGIN TRANSACTION;', ...receipt, 'COMMIT TRANSACTION;'].join('\n'),
  );
});

test('persons are merged by their key, and by versions where the export has them', () => {
  const key = [column('team_id', 'integer'), column('distinct_id')];
  const merged = (columns: Column[]) =>
    showScript(
      config,
      { model: 'persons', columns },
      { tables: ['s0'], json_columns: new Set() },
    ).split(';\n')[1];
  assert.equal(
    merged([...key, column('person_version', 'integer'), column('name')]),
    [
      'MERGE INTO `my-project`.`d`.`my events` AS existing',
      'USING (SELECT * FROM (SELECT `team_id`, `distinct_id`, `person_version`, `name`',
      'FROM (SELECT * FROM `my-project`.`d`.`s0`))',
      'WHERE TRUE QUALIFY ROW_NUMBER() OVER (PARTITION BY `team_id`, `distinct_id` ORDER BY ' +
        '`person_version` DESC NULLS LAST, TO_JSON_STRING(`name`) DESC) = 1) AS incoming',
      'ON existing.`team_id` = incoming.`team_id` AND existing.`distinct_id` = ' +
        'incoming.`distinct_id`',
      'WHEN MATCHED AND (incoming.`person_version` > existing.`person_version` OR ' +
        '(existing.`person_version` IS NULL AND incoming.`person_version` IS NOT NULL) OR ' +
        '((incoming.`person_version` = existing.`person_version` OR (existing.`person_version` ' +
        'IS NULL AND incoming.`person_version` IS NULL)) AND (TO_JSON_STRING(incoming.`name`) > ' +
        'TO_JSON_STRING(existing.`name`)))) THEN UPDATE SET `person_version` = ' +
        'incoming.`person_version`, `name` = incoming.`name`',
      'WHEN NOT MATCHED THEN INSERT (`team_id`, `distinct_id`, `person_version`, `name`) ' +
        'VALUES (incoming.`team_id`, incoming.`distinct_id`, incoming.`person_version`, ' +
        'incoming.`name`)',
    ].join('\n'),
  );
  assert.match(
    merged([...key, column('name')])!,
    /= 1\) AS incoming\n[^\n]+\nWHEN MATCHED AND \(1 = 1\) THEN UPDATE SET `name` = incoming.`name`\n/,
  );
  assert.doesNotMatch(merged(key)!, /UPDATE/);
  // A value that a query has made is no key, whatever its name.
  assert.match(
    merged([column('team_id', 'integer', { is_calculated: true }), column('distinct_id')])!,
    /^INSERT INTO/,
  );
});

test('the other statements', () => {
  const words = { quoted, textOf };
  const [uuid, instant] = [column('uuid', 'uuid'), column('c0', 'timestamp')];
  assert.equal(
    textsQuery(words, '`d`.`k`', { model: 'events', columns: [uuid, instant] }, []),
    "SELECT CAST(`uuid` AS STRING) AS `c0`, FORMAT_TIMESTAMP('%F %H:%M:%E6S', `c0`, 'UTC') AS " +
      '`c1`\nFROM `d`.`k`',
  );
  const persons = [column('team_id', 'integer'), column('distinct_id'), column('set', 'json')];
  assert.equal(
    textsQuery(words, '`d`.`k`', { model: 'persons', columns: persons, team_id: 7 }, [
      { name: 'SET', type: 'JSON' },
    ]),
    'SELECT CAST(`team_id` AS STRING) AS `c0`, CAST(`distinct_id` AS STRING) AS `c1`, ' +
      'TO_JSON_STRING(`set`) AS `c2`\nFROM `d`.`k`\nWHERE `team_id` = 7',
  );
  assert.equal(quoted('a`b\\c'), '`a\\`b\\\\c`');
});

test('columns that BigQuery cannot have are named', () => {
  const cases: [names: string[], pattern: RegExp | undefined][] = [
    [['uuid', 'set', '_x9', 'a'.repeat(300)], undefined],
    [['with space'], /`with space` another alias/],
    [['9lives'], /begin with no digit/],
    [['ñ'], /letters a to z/],
    [['a'.repeat(301)], /another alias/],
    [['_PARTITIONTIME'], /reserves names/],
    [['_change_type'], /reserves names/],
    [['name', 'NAME'], /ignores case/],
  ];
  for (const [names, pattern] of cases) {
    const faults = bigQueryColumnFaults(names.map((name) => column(name)));
    assert.equal(faults.length, pattern === undefined ? 0 : 1, names.join());
    if (pattern !== undefined) assert.match(faults[0]!, pattern);
  }
  for (const { columns } of [events, persons])
    assert.deepEqual(bigQueryColumnFaults(columns.tables), []);
});

test('a table that cannot take the export says why, and names its JSON columns', () => {
  const layout = {
    model: 'events' as const,
    columns: [column('uuid', 'uuid'), column('properties', 'json'), column('amount', 'integer')],
  };
  const check = (fields: Field[]) => {
    requireColumns({ config } as Dataset, layout, { type: 'TABLE', schema: { fields } });
    return jsonColumns(layout.columns, fields);
  };
  const good: Field[] = newTable(layout, true).schema.fields;
  const without = (name: string) => good.filter((field) => field.name !== name);
  assert.deepEqual([...check(good)], ['properties']);
  assert.deepEqual(
    [
      ...check([
        ...without('properties'),
        { name: 'PROPERTIES', type: 'STRING' },
        { name: 'own', type: 'DATE' },
      ]),
    ],
    [],
  );
  assert.deepEqual(
    [
      ...check([
        ...good,
        { name: 'own', type: 'DATE', mode: 'REQUIRED', defaultValueExpression: 'CURRENT_DATE()' },
      ]),
    ],
    ['properties'],
  );
  const cases: [fields: Field[], code: string, pattern: RegExp][] = [
    [without('uuid').slice(1), 'columns_missing', /uuid STRING, properties STRING or JSON\. Add/],
    [
      [...without('uuid'), { name: 'uuid', type: 'BYTES' }],
      'table_unsuitable',
      /uuid must be STRING and is BYTES\./,
    ],
    [
      [...without('amount'), { name: 'amount', type: 'INTEGER', mode: 'REPEATED' }],
      'table_unsuitable',
      /is repeated INTEGER/,
    ],
    [
      [...good, { name: 'own', type: 'DATE', mode: 'REQUIRED' }],
      'table_unsuitable',
      /own is required/,
    ],
  ];
  for (const [fields, code, pattern] of cases)
    assert.throws(
      () => check(fields),
      (error) =>
        error instanceof NonRetryableError && error.code === code && pattern.test(error.message),
      String(pattern),
    );
});

test("Google's errors have codes of their own, and repeat no secret", () => {
  const cases: [reason: string, message: string, isRetryable: boolean, code: string][] = [
    [
      'invalidQuery',
      'Could not serialize access to table p:d.t due to concurrent update',
      true,
      'conflict',
    ],
    [
      'quotaExceeded',
      'Too many partitions produced by query, allowed 4000, ' +
        'query produces at least 4001 partitions',
      false,
      'table_unsuitable',
    ],
    ['invalid', 'Too many partitions produced by query', false, 'table_unsuitable'],
    [
      'invalidQuery',
      'Required column value for column index: 1 is missing; Required field x cannot be null',
      false,
      'value_refused',
    ],
    [
      'notFound',
      'Not found: Table my-project:d.sluice_stage_0_1_2 was not found in location EU',
      true,
      'slice_lost',
    ],
    [
      'notFound',
      'Not found: Table my-project:d.events was not found in location EU',
      false,
      'table_missing',
    ],
    ['notFound', 'Not found: Dataset my-project:d', false, 'schema_missing'],
    ['notFound', 'Not found: Project my-project', false, 'database_missing'],
    [
      'accessDenied',
      'Access Denied: account@my-project.iam.gserviceaccount.com ' +
        'does not have bigquery.jobs.create',
      false,
      'permission_denied',
    ],
    [
      'billingNotEnabled',
      'DML queries are not allowed in the free tier.',
      false,
      'permission_denied',
    ],
    [
      'rateLimitExceeded',
      'Exceeded rate limits: too many table update operations for this table.',
      true,
      'throttled',
    ],
    ['quotaExceeded', 'Quota exceeded', true, 'throttled'],
    ['resourcesExceeded', 'Resources exceeded during query execution.', true, 'out_of_resources'],
    [
      'backendError',
      'Error encountered during execution. Retrying may solve the problem.',
      true,
      'server_fault',
    ],
    ['jobInternalError', 'An internal error occurred.', true, 'server_fault'],
    ['stopped', 'Job execution was cancelled', true, 'cancelled_by_server'],
    ['invalidQuery', 'Syntax error', false, 'statement_refused'],
    ['invalid_grant', 'Invalid JWT Signature.', false, 'authentication_failed'],
  ];
  for (const [reason, message, isRetryable, code] of cases) {
    const error = bigQueryError(new JobError(reason, message), config) as RetryableError;
    assert.ok(error instanceof (isRetryable ? RetryableError : NonRetryableError), message);
    assert.equal(error.code, code, message);
    assert.match(error.message, /[^.]\.$/);
    assert.ok(!error.message.includes(config.client_email));
  }
  const answered = (status: number, data: unknown) =>
    bigQueryError(
      Object.assign(new Error('said the library'), { response: { status, data } }),
      config,
    ) as RetryableError;
  assert.equal(answered(400, '{"error":"invalid_grant"}').code, 'authentication_failed');
  assert.equal(answered(404, '<html>').code, 'authentication_failed');
  assert.equal(answered(502, '<html>').code, 'store_fault');
  assert.equal(
    answered(403, {
      error: {
        message: 'BigQuery API has not been used',
        errors: [{ reason: 'accessNotConfigured' }],
      },
    }).code,
    'permission_denied',
  );
  const hidden = new Error('said the library', {
    cause: new TypeError('fetch failed', {
      cause: Object.assign(new Error('system'), { code: 'ECONNRESET' }),
    }),
  });
  assert.equal((bigQueryError(hidden, config) as RetryableError).code, 'connection_lost');
  const source = new Error('the query failed');
  assert.equal(bigQueryError(source, config), source);
});
