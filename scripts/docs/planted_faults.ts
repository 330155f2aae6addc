/** Writes the table of docs/planted_faults.md from the planted faults (`npm run docs:planted`). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import { withFaultsTable } from '../../test/planted/faults_table.ts';

const path = join(import.meta.dirname, '../..', 'docs', 'planted_faults.md');
writeFileSync(path, withFaultsTable(readFileSync(path, 'utf8')));
console.log(`${path} is written.`);
