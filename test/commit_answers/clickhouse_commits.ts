import { createClient } from '@clickhouse/client';
import { openTestStores } from '../harness_stores.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import type { ClickHouseFault } from '../servers/databases/clickhouse_proxy.ts';
import { delivered, refused, struckCases, uncertain } from './struck_commits.ts';
import type { Expected } from './struck_commits.ts';

type Fault = ClickHouseFault;

/**
 * Shows the rows, and then the receipt: without transactions these are two steps. Before both, the
 * table of receipts gets a line without a manifest.
 */
const attach = /ATTACH PARTITION/;
const receipt = { follows: attach, pattern: /^INSERT INTO .*sluice_receipts/ };

const said = (code: number, type: string): Fault['answer'] => ({
  code,
  type,
  message: 'said by a test',
});

const short = refused('FailedRetryable', 'out_of_resources');

const faults: [answer: string, Fault, Expected][] = [
  [
    'of the rows: ACCESS_DENIED',
    { pattern: attach, reaches: false, answer: said(497, 'ACCESS_DENIED') },
    refused('Failed', 'permission_denied'),
  ],
  [
    'of the rows: MEMORY_LIMIT_EXCEEDED',
    { pattern: attach, reaches: false, answer: said(241, 'MEMORY_LIMIT_EXCEEDED') },
    short,
  ],
  [
    'of the receipt: MEMORY_LIMIT_EXCEEDED',
    { ...receipt, reaches: false, answer: said(241, 'MEMORY_LIMIT_EXCEEDED') },
    short,
  ],
  [
    'of the receipt: NETWORK_ERROR',
    { ...receipt, reaches: true, answer: said(210, 'NETWORK_ERROR') },
    delivered,
  ],
  [
    'of the receipt: MEMORY_LIMIT_EXCEEDED',
    { ...receipt, reaches: true, answer: said(241, 'MEMORY_LIMIT_EXCEEDED') },
    delivered,
  ],
  [
    'of the rows: none, the connection breaks',
    { pattern: attach, reaches: false, answer: 'cut' },
    uncertain('connection_lost'),
  ],
  [
    'of the receipt: none, the connection breaks',
    { ...receipt, reaches: true, answer: 'cut' },
    delivered,
  ],
  [
    'of the rows: none, and silence',
    { pattern: attach, reaches: false, answer: 'nothing' },
    uncertain('timed_out'),
  ],
  [
    'of the receipt: none, and silence',
    { ...receipt, reaches: true, answer: 'nothing' },
    delivered,
  ],
  [
    'of the receipt: none, and the server is away',
    { ...receipt, reaches: true, answer: 'cut', away: true },
    uncertain('connection_lost'),
  ],
];

/** Deliveries to a ClickHouse. */
export async function openClickHouseCommits() {
  const stores = await openTestStores({ clickhouse: true });
  const client = createClient({ url: stores.clickhouse_url, log: { level: 127 } });
  const url = new URL(stores.clickhouse_url);
  const proxy = await openClickHouseProxy(url.origin, { tls: true });
  const database = `${url.pathname.slice(1)}_commits`;
  await client.command({ query: `CREATE DATABASE ${database}` });
  let places = 0;
  const place = async () => {
    const table_name = `place_${(places += 1)}`;
    const rows = async (query: string) => {
      const found = await client.query({ query, format: 'JSONEachRow' });
      return Number((await found.json<{ rows: string }>())[0]!.rows);
    };
    const isThere = `SELECT count() AS rows FROM system.tables
      WHERE database = '${database}' AND name = '${table_name}'`;
    const visible = async () =>
      (await rows(isThere)) === 0
        ? 0
        : rows(`SELECT count() AS rows FROM ${database}.${table_name}`);
    const access = { user: url.username, password: decodeURIComponent(url.password) };
    const to = { url: proxy.url, has_self_signed_cert: true, database, table_name };
    return { config: { ...access, ...to }, visible };
  };
  const close = async () => {
    await client.command({ query: `DROP DATABASE ${database} SYNC` });
    await client.close();
    await proxy.close();
    await stores.close();
  };
  return { cases: struckCases('ClickHouse', place, proxy.strike, faults), close };
}
