import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { quoted } from '../sql_tables/layout.ts';
import {
  openAroundTests,
  server,
  freshConfig,
} from '../../../../test/destinations/snowflake_world.ts';
import { delivery, deliver } from '../../../../test/destinations/snowflake_notes.ts';

openAroundTests();

test('a delivery is these statements and no others', async () => {
  const config = { ...(await freshConfig()), role: null };
  server.statements.length = 0;
  await deliver(config, delivery(), 'abc\n');
  const text = server.statements
    .map((statement) => statement.replaceAll(/\s+/g, ' '))
    .map((statement) => statement.replaceAll(/sluice_([a-z]+)_[0-9a-f]{16}/g, '$1'))
    .join('\n');
  const expected = await readFile(
    new URL('../../../../test/destinations/snowflake_delivery.sql', import.meta.url),
    'utf8',
  );
  assert.equal(`${text}\n`, expected.replaceAll('SCHEMA_NAME', quoted(config.schema)));
});
