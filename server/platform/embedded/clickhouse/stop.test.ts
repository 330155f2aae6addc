import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { createClient } from '@clickhouse/client';
import { pino } from 'pino';
import { eventually } from '../../../../test/eventually.ts';
import { openEmbeddedClickHouse } from './clickhouse.ts';

test('a stop does not wait for running queries, unread results or endless inserts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  let said = '';
  const log = pino({ level: 'warn' }, { write: (line) => void (said += line) });
  const short = await openEmbeddedClickHouse({ folder, log });
  assert.equal(readdirSync(join(folder, 'pipes')).length, 40);
  const pending = createClient({ url: short.url, log: { level: 127 } });
  const asked = pending.query({ query: 'SELECT count() FROM numbers(1000000000000)' });
  asked.catch(() => {});
  const { stream } = await pending.exec({
    query: 'SELECT * FROM numbers(1000000000000) FORMAT TSV',
  });
  stream.on('error', () => {});
  await pending.command({
    query: 'CREATE TABLE endless (n UInt64) ENGINE = MergeTree ORDER BY n',
  });
  const endless = new Readable({ read() {} });
  endless.push('1\n');
  const insert = pending.exec({ query: 'INSERT INTO endless FORMAT TSV', values: endless });
  insert.catch(() => {});
  await eventually('the three do not run', async () => {
    const running = await pending.query({
      query: `SELECT count() FROM system.processes
          WHERE (query LIKE '%numbers(1000000000000)%' OR query LIKE 'INSERT%')
            AND query NOT LIKE '%system.processes%'`,
      format: 'TabSeparated',
    });
    return Number(await running.text()) === 3;
  });
  await short.stop();
  // The supervisor would report a process that it had to kill.
  assert.equal(said, '');
  assert.ok(!readdirSync(folder).includes('pipes'));
  await assert.rejects(asked);
  await assert.rejects(insert);
  await pending.close();
  await rm(folder, { recursive: true, force: true });
});
