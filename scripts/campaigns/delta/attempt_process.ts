// Attempts to deliver to a Delta table, once for each line of standard input, until it is killed:
// attempt_process.ts <export folder> <table> <naive>. Answers each with a line.
import process from 'node:process';
import { createInterface } from 'node:readline';
import { openTable } from './attempts.ts';
import type { Asked } from './attempts.ts';

const [, , export_dir = '', table = '', naive = ''] = process.argv;
const opened = openTable(export_dir, table, naive === 'true');
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await opened.do(JSON.parse(line) as Asked))}\n`);
await opened.close();
