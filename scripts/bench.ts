/** Runs a benchmark of bench/ by its name: `npm run bench export 10000,1000000`. */
import process from 'node:process';
import './require_node.mjs';
import { interrupt, runNode } from './child.ts';

const benchmarks = {
  api: 'reads and changes of the API, beside a bare server',
  api_while_exporting: 'readers of the API beside an export',
  backfill_memory: 'memory during weeks of backfill',
  bulk_retry: 'thousands of failed runs, retried by a bulk action',
  capture: 'events of SDKs in a second, beside bare node:http',
  claim_lag: 'how late due exports are claimed',
  console: 'the console over 10,000 exports and 1,000,000 runs, in Chromium',
  console_map: "drawing the console's map of 200,000 slots",
  empty_backfill: 'a backfill over a range without events',
  export: 'events and bytes in a second, by format',
  export_elsewhere: 'exports to databases and stores, beside their own loaders',
  first_export: 'the first minute: from an empty folder to an export',
  growth: 'what grows with the exports, runs, members and rectangles that are stored',
  hostile_answers: 'how long pages of the largest records hold the event loop',
  ingestion: 'events taken in, in a second, beside another checkout',
  query: 'a query of the query language, parsed and resolved',
  start: 'until a server is ready, and what it weighs when nobody asks',
  slots: 'what became of 200,000 slots of one export with 1,000,000 runs',
};

const [name = '', ...options] = process.argv.slice(2);
if (Object.hasOwn(benchmarks, name)) {
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  process.exitCode = (await runNode([`bench/${name}.ts`, ...options], {})) ? 0 : 1;
} else {
  console.log('npm run bench <name> [-- options]. The names:');
  for (const [known, what] of Object.entries(benchmarks))
    console.log(`  ${known.padEnd(20)} ${what}`);
  process.exitCode = name === '' ? 0 : 2;
}
