import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { openQueryHouse } from '../query_exports.ts';
import type { QueryHouse } from '../query_exports.ts';
import { openEndpointFaults } from './endpoint_faults.ts';
import { engineFaults } from './engine_faults.ts';
import { fileFaults } from './file_faults.ts';
import { Matrix, matrixMarkdown } from './matrix.ts';
import type { FaultCase, FoundFault } from './matrix.ts';
import { openObjectFaults } from './object_faults.ts';
import { openPostgresFaults } from './postgres_faults.ts';

const faults_min = 40;

let exporting: QueryHouse;
let cases: FaultCase[];
const closing: (() => Promise<void>)[] = [];
before(async () => {
  exporting = await openQueryHouse();
  const opened = await Promise.all([openObjectFaults(), openPostgresFaults(), openEndpointFaults()]);
  closing.push(...opened.map(({ close }) => close));
  cases = [...fileFaults(exporting.folder), ...opened.flatMap((one) => one.cases), ...engineFaults(exporting)];
});
after(async () => {
  for (const close of closing) await close();
  await exporting.close();
});

test('whatever happens, a run ends as docs/fault_matrix.md says, shows nothing half, and delivers every row once afterwards', async (context) => {
  const matrix = await Matrix.open(exporting);
  const found: FoundFault[] = [];
  for (const one of cases) await context.test(`${one.destination}: ${one.fault}`, async () => void found.push(await matrix.happen(one)));
  assert.ok(found.length >= faults_min, `${found.length} faults`);
  const page = await readFile(new URL('../../docs/fault_matrix.md', import.meta.url), 'utf8').catch(() => '');
  const table = matrixMarkdown(found);
  assert.ok(page.includes(table), `docs/fault_matrix.md is not current; the table is now:\n${table}`);
});
