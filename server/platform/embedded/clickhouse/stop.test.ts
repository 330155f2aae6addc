import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import { silentLog } from '../../log.ts';
import { openEmbeddedClickHouse } from './clickhouse.ts';

test(
  'a stop does not wait for running queries, results that nobody reads or inserts that do not ' +
    'end',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
    const short = await openEmbeddedClickHouse({ folder, log: silentLog() });
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
    const list =
      "SELECT count() FROM system.processes WHERE query LIKE '%numbers(1000000000000)%' OR " +
      "query LIKE 'INSERT%'";
    const countRunning = async (): Promise<number> =>
      Number(
        await (
          await pending.query({
            query: `${list} AND query NOT LIKE '%system.processes%'`,
            format: 'TabSeparated',
          })
        ).text(),
      );
    const deadline = performance.now() + 10_000;
    while ((await countRunning()) < 3) {
      assert.ok(performance.now() < deadline, 'waited for ten seconds');
      await pause(10);
    }
    const began = performance.now();
    await short.stop();
    // Its supervisor would have killed it after three seconds.
    assert.ok(performance.now() - began < 2_500, `${performance.now() - began} ms`);
    assert.ok(!readdirSync(folder).includes('pipes'));
    await assert.rejects(asked);
    await assert.rejects(insert);
    await pending.close();
    await rm(folder, { recursive: true, force: true });
  },
);
