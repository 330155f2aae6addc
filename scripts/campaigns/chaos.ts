// Kills the processes of a deployment with -9 at random while events come in and exports run, and
// compares every row that arrived at File, S3 and Postgres with the source. Prints each kill, what
// became of all, what was left behind, and the seed. Exit code 1: something was lost, doubled,
// changed or left behind. npm run chaos [-- --kills 50 --seed 7 --events 60000]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFaultless, runCampaign } from '../../test/chaos/campaign.ts';
import { anySeed, readOptions } from '../options.ts';

const { kills, seed, events } = readOptions({ kills: 50, seed: anySeed(), events: 60_000 });
const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
console.log(`${kills} kills, seed ${seed}, ${events} events before the first one; in ${folder}`);
const outcome = await runCampaign({
  folder,
  events,
  kills,
  seed,
  say: (line) => console.log(line),
});
const { destinations, leftovers, ...rest } = outcome;
console.log(JSON.stringify(rest, null, 2));
for (const [type, { ledger, ...found }] of Object.entries(destinations))
  console.log(`${type} ${JSON.stringify(found)}\n  ledger ${JSON.stringify(ledger)}`);
for (const [kind, names] of Object.entries(leftovers))
  console.log(`${kind}: ${names.length}${names.map((name) => `\n  ${name}`).join('')}`);
const passed = isFaultless(outcome);
console.log(
  `seed ${seed}: ` +
    (passed
      ? 'nothing lost, nothing doubled, nothing changed, nothing left behind'
      : 'DIFFERENCES, see above'),
);
// Keeps the folder with the differences for an inspection.
if (passed) rmSync(folder, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
