// Erases persons among many events that were exported to files, S3, PostgreSQL, MariaDB and
// ClickHouse, with kill -9 of every process in the middle; then deletes the organization. Searches
// the bytes of both stores. Exit code 1: something of them was left, or something else was changed.
// npm run erasures [-- --events 1000000 --persons 100 --erasures 4 --kills 20 --seed 7]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runErasures } from '../../test/chaos/erasures.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20000' },
    persons: { type: 'string', default: '100' },
    erasures: { type: 'string', default: '4' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'sluice-erasures-'));
const wanted = {
  folder,
  events: Number(values.events),
  persons: Number(values.persons),
  erasures: Number(values.erasures),
  kills: Number(values.kills),
  seed: Number(values.seed),
  say: (line: string) => console.log(`${Math.round(performance.now() / 1_000)} s: ${line}`),
};
console.log(`${values.events} events, ${values.kills} kills, seed ${values.seed}; in ${folder}`);
const outcome = await runErasures(wanted);
console.log(JSON.stringify(outcome, null, 2));
if (outcome.faults.length === 0) rmSync(folder, { recursive: true, force: true });
process.exitCode = outcome.faults.length === 0 ? 0 : 1;
