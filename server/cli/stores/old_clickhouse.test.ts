import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { answerError } from '../../engine/destinations/clickhouse/faults.ts';
import { connect } from '../../engine/destinations/clickhouse/connection.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { silentLog } from '../../platform/log.ts';
import { waitForClickHouse } from './wait_for_stores.ts';

/** Settings that our clients and statements send and that ClickHouse 18.16 does not know. */
const unknown = ['date_time_output_format', 'format_tsv_null_representation'];
const old_error = (name: string) =>
  `Code: 115, e.displayText() = DB::Exception: Unknown setting ${name}, e.what() = DB::Exception`;

/** Answers as ClickHouse 18.16.1 does, of which Debian has a package: by settings, then version. */
async function withOldServer(work: (url: string) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const name = unknown.find((one) => searchParams.has(one));
    response.statusCode = name === undefined ? 200 : 500;
    request.resume().once('end', () => {
      response.end(name === undefined ? '{"version":"18.16.1"}\n' : old_error(name));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a ClickHouse that is too old is named with its version and the one that is needed', () =>
  withOldServer(async (url) => {
    const clickhouse = openClickHouse(url, { application: 'test' });
    try {
      await assert.rejects(
        waitForClickHouse(clickhouse, silentLog(), 5_000),
        /^UserError: ClickHouse \(SLUICE_CLICKHOUSE_URL\) .* 18\.16\.1 is too old.* 26\.3 or newer/,
      );
    } finally {
      await clickhouse.close();
    }
    const config = { url, password: '', table_name: 'events' } as never;
    const outbound = { openAgent: () => new Agent() } as never;
    await assert.rejects(connect(config, { outbound, signal: new AbortController().signal }), {
      code: 'server_too_old',
      message: /^ClickHouse 18\.16\.1 is too old: an export needs 22\.8 or newer\./,
    });
  }));

test('an error of an old ClickHouse is reported as one of the server', () => {
  const { message } = answerError(new Error(old_error('x')));
  assert.equal(message, 'The server reported an error (Unknown setting x).');
});
