import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { inTurn, is_deep } from '../depth.ts';
import { mariaDbMissing } from '../servers/databases/mariadb_server.ts';
import { openQueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { mySqlFaults, openClickHouseFaults, openRedshiftFaults } from './database_faults.ts';
import { deltaFaults } from './delta_faults.ts';
import { openEndpointFaults } from './endpoint_faults.ts';
import { engineFaults } from './engine_faults.ts';
import { fileFaults } from './file_faults.ts';
import { icebergFaults } from './iceberg_faults.ts';
import { Matrix, matrixMarkdown } from './matrix.ts';
import type { FaultCase } from './matrix.ts';
import { openObjectFaults } from './object_faults.ts';
import { openPostgresFaults } from './postgres_faults.ts';
import { deafDestination, hangingAndOthers, slowPeer, slowSource } from './silent_peers.ts';
import { openBigQueryFaults, openSnowflakeFaults } from './warehouse_faults.ts';

const faults_min = 40;
/** The step between the faults of a destination that one run has. */
const turns = 8;
/** Destinations whose servers or clients are slow to start; one of them has a fault in a run. */
const dear = ['MySQL', 'Snowflake', 'BigQuery'];

/** Other faults in each run, all of them in depth. */
function someOf(all: FaultCase[]): FaultCase[] {
  if (is_deep) return all;
  const [chosen] = inTurn(dear, dear.length);
  const groups = Object.values(Object.groupBy(all, ({ destination }) => destination));
  return groups.flatMap((own = []) => {
    const { destination } = own[0]!;
    if (dear.includes(destination) && destination !== chosen) return [];
    return inTurn(own, turns);
  });
}

let exporting: QueryHarness;
let cases: FaultCase[];
const closing: (() => Promise<void>)[] = [];
before(async () => {
  exporting = await openQueryHarness();
  const opened = await Promise.allSettled([
    openObjectFaults(),
    openPostgresFaults(),
    openRedshiftFaults(),
    openSnowflakeFaults(),
    openBigQueryFaults(),
    openClickHouseFaults(),
    Promise.resolve(mySqlFaults()),
    openEndpointFaults(),
  ]);
  const worlds = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  // All opened worlds are closed, even if one failed; otherwise the process would never end.
  closing.push(...worlds.map(({ close }) => close));
  for (const one of opened) if (one.status === 'rejected') throw one.reason;
  cases = [
    ...fileFaults(exporting.folder),
    ...icebergFaults(exporting),
    ...deltaFaults(exporting),
    ...worlds.flatMap((one) => one.cases),
    ...engineFaults(exporting),
  ];
});
after(async () => {
  for (const close of closing) await close();
  await exporting.close();
});

test('every fault ends as the page says, and all rows arrive once afterwards', async (context) => {
  const matrix = await Matrix.open(exporting);
  if (mariaDbMissing !== undefined)
    await context.test('MySQL', { skip: mariaDbMissing }, () => undefined);
  for (const one of someOf(cases))
    await context.test(`${one.destination}: ${one.fault}`, () => matrix.happen(one));
  assert.ok(cases.length >= faults_min, `${cases.length} faults`);
  const page = await readFile(new URL('../../docs/fault_matrix.md', import.meta.url), 'utf8').catch(
    () => '',
  );
  const table = matrixMarkdown(cases);
  const shown = page
    .split('\n')
    .filter((line) => mariaDbMissing === undefined || !line.startsWith('| MySQL |'));
  assert.ok(
    shown.join('\n').includes(table),
    `docs/fault_matrix.md is not current; the table is now:\n${table}`,
  );
});

test('a slow destination is waited for while it progresses, and the log notes silence', () =>
  slowPeer(exporting));

test('a destination that waits for a slow source is not silent', () => slowSource(exporting));

test('a destination that ignores its signal is still given up', () => deafDestination(exporting));

test('four exports whose destination hangs do not delay another one of their project', () =>
  hangingAndOthers(exporting));
