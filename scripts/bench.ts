/**
 * The benches. `npm run bench` runs all, one after the other, and writes one table of what they
 * found to `bench/table.md`; `npm run bench <name> [-- options]` runs one of them.
 *   --quick         fewer rounds and smaller sizes, in some five minutes
 *   --rounds 5      so many rounds, in place of each bench's own number
 *   --only a,b      these alone
 *   --docs          puts the table into bench/figures.md as well
 *   --server folder measures the server of another checkout by these benches
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import './require_node.mjs';
import { tableOf } from '../bench/measure/figures.ts';
import type { Figure } from '../bench/measure/figures.ts';
import { describeMachine, machineLoad } from '../bench/measure/machine.ts';
import { interrupt, isInterrupted, root, runNode } from './child.ts';
import { readOptions } from './options.ts';

/** `quick`: its options in a quick run; false leaves it out. */
type Bench = { what: string; all?: string[]; quick: string[] | false };

/** The benches in the order in which they run. */
const benches: Record<string, Bench> = {
  export: {
    what: 'events to each kind of destination, beside what else would bring them there',
    all: ['--events', '1000000', '--sliced', '2500000'],
    quick: ['--events', '200000', '--rounds', '1'],
  },
  api: {
    what: 'reads and changes of the API, beside a bare server',
    quick: ['--rounds', '2', '--share', '0.3'],
  },
  api_while_exporting: { what: 'readers of the API beside an export', quick: false },
  claim_lag: {
    what: 'how late due exports are claimed',
    quick: ['--exports', '1000', '--projects', '100', '--rounds', '1'],
  },
  freshness: {
    what: 'how old rows of exports of every minute are when readers can see them',
    quick: ['--exports', '1,20', '--minutes', '2', '--ratio', 'false'],
  },
  capture: {
    what: 'events of SDKs, beside bare node:http',
    quick: ['--rounds', '1', '--seconds', '1'],
  },
  ingestion: {
    what: 'events taken in by the API, or beside another checkout',
    quick: ['--rounds', '1', '--seconds', '1'],
  },
  first_export: { what: 'the first minute: from an empty folder to an export', quick: [] },
  start: {
    what: 'until a server is ready, and what it weighs when nobody asks',
    quick: ['--rounds', '1', '--idle', '5'],
  },
  growth: {
    what: 'costs that grow with the stored data',
    quick: `--exports 10,10000 --runs 1000,30000 --members 10,10000
      --rectangles 10,10000 --rows 10000,100000`.split(/\s+/),
  },
  empty_backfill: {
    what: 'a backfill over a range without events',
    quick: ['--runs', '50000'],
  },
  backfill_memory: { what: 'memory during weeks of backfill', quick: ['--hours', '100'] },
  bulk_retry: {
    what: 'failed runs, retried by a bulk action',
    quick: ['--runs', '1000', '--rounds', '1'],
  },
  slots: {
    what: 'the state of 200,000 slots of one export with 1,000,000 runs',
    quick: ['--slots', '20000', '--backfill_runs', '80000'],
  },
  lake_commit: {
    what: 'a commit to an Iceberg table that has 10,000 snapshots',
    quick: ['--rounds', '5'],
  },
  lake_insert: {
    what: "rows of one run into an Iceberg table, beside the store's own INSERT",
    quick: ['--events', '200000', '--rounds', '1'],
  },
  tools: {
    what: 'events to ten tools, idle tools, an outage of one, a limit by the minute',
    quick: ['--events', '5000', '--only', 'load,outage'],
  },
  console: {
    what: 'the console over 10,000 exports and 1,000,000 runs, in Chromium',
    all: ['--rounds', '5'],
    quick: false,
  },
  console_map: { what: "drawing the console's map of 200,000 slots", quick: [] },
  merges: {
    what: 'a change of 1 % of a large table by merge, beside statements written by hand',
    quick: ['--rows', '200000', '--rounds', '1'],
  },
  group_columns: {
    what: 'the columns of groups in an insert of events',
    quick: ['--batches', '10', '--rounds', '1'],
  },
  query: { what: 'a query of the query language, parsed and resolved', quick: [] },
  hostile_answers: {
    what: 'how long pages of the largest records hold the event loop',
    quick: false,
  },
};

const [first = '', ...rest] = process.argv.slice(2);
const name = first.startsWith('--') ? '' : first;
const values = readOptions(
  { quick: false, docs: false, only: '', rounds: '', server: '' },
  name === '' ? process.argv.slice(2) : [],
);

function optionsOf({ all = [], quick }: Bench): string[] {
  const own = values.quick && quick !== false ? quick : all;
  return [
    ...own,
    ...(values.rounds === '' ? [] : ['--rounds', values.rounds]),
    ...(values.server === '' ? [] : ['--server', values.server]),
  ];
}

async function runAll(chosen: [string, Bench][]): Promise<void> {
  const figures: Figure[] = [];
  const failed: string[] = [];
  const machine = describeMachine();
  const load = machineLoad();
  const began = performance.now();
  for (const [name, bench] of chosen) {
    const options = optionsOf(bench);
    console.log(`\n${name} ${options.join(' ')}: ${bench.what}`);
    const took = performance.now();
    const isDone = await runNode([`bench/${name}.ts`, ...options], {}, undefined, (message) =>
      figures.push(message as Figure),
    );
    console.log(`${name} took ${Math.round((performance.now() - took) / 1_000)} s.`);
    if (isInterrupted()) process.exit(1);
    if (!isDone) failed.push(name);
  }
  const minutes = ((performance.now() - began) / 60_000).toFixed(0);
  const text = [
    `${machine.replace('; ', ';\n')}.\n${new Date().toISOString().slice(0, 10)}, in ` +
      `${minutes} minutes; ${load} processes wanted a core before, ${machineLoad()} after.`,
    tableOf(figures),
    ...(failed.length === 0 ? [] : [`Without figures, because they failed: ${failed.join(', ')}.`]),
  ].join('\n\n');
  console.log(`\n${text}`);
  writeFileSync(join(root, 'bench/table.md'), `${text}\n`);
  if (values.docs) putIntoDocs(text);
  if (failed.length > 0) process.exitCode = 1;
}

/** Writes the table between the two marks of the page. */
function putIntoDocs(text: string): void {
  const page = join(root, 'bench/figures.md');
  const marks = /(<!-- table -->)[^]*(<!-- end of table -->)/;
  writeFileSync(page, readFileSync(page, 'utf8').replace(marks, `$1\n\n${text}\n\n$2`));
}

function listThem(problem: string): void {
  console.log(`${problem} npm run bench <name> [-- options], or npm run bench for all. The names:`);
  for (const [known, { what }] of Object.entries(benches))
    console.log(`  ${known.padEnd(20)} ${what}`);
  process.exitCode = 2;
}

process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);
const only = values.only.split(',').filter(Boolean);
const unknown = [...only, ...(name === '' ? [] : [name])].find(
  (one) => !Object.hasOwn(benches, one),
);
if (unknown !== undefined) listThem(`There is no bench ${unknown}.`);
else if (name !== '') process.exitCode = (await runNode([`bench/${name}.ts`, ...rest], {})) ? 0 : 1;
else
  await runAll(
    Object.entries(benches).filter(([one, { quick }]) =>
      only.length > 0 ? only.includes(one) : !values.quick || quick !== false,
    ),
  );
