// Lets a server work on a stand-in for a ClickHouse cluster that misbehaves, kills its processes
// and engines, and compares every replica and every exported file with what was answered for. With
// --without, the stand-in lacks one protection of a cluster, or each in turn (`all`), and the
// campaign must find that. Exit code 1: something was lost, doubled or changed, or a missing
// protection was not found. npm run cluster [-- --kills 20 --cuts 20 --seed 7 --mode on_cluster]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isFaultless, runCampaign } from '../test/clickhouse_cluster/campaign.ts';
import { weaknesses } from '../test/clickhouse_cluster/settings.ts';
import type { Weakness } from '../test/clickhouse_cluster/settings.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    cuts: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    mode: { type: 'string', default: 'replicated_database' },
    without: { type: 'string' },
  },
});
const [kills, cuts, seed] = [Number(values.kills), Number(values.cuts), Number(values.seed)];
const mode = values.mode === 'on_cluster' ? 'on_cluster' : 'replicated_database';
const { without } = values;
const wanted = weaknesses.filter((name) => without === 'all' || without === name);
if (without !== undefined && wanted.length === 0)
  throw new Error(`--without takes all, or one of: ${weaknesses.join(', ')}.`);

async function play(weakness?: Weakness): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
  const name = weakness === undefined ? '' : `, weakness: ${weakness}`;
  console.log(`${kills} kills, ${cuts} cuts, seed ${seed}, ${mode}${name}; in ${folder}`);
  const began = performance.now();
  const say = (line: string) =>
    console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  let is_faultless = false;
  try {
    const outcome = await runCampaign({ folder, mode, kills, cuts, seed, weakness, say });
    console.log(JSON.stringify(outcome, null, 2));
    is_faultless = isFaultless(outcome);
  } catch (error) {
    say(`it did not come to its end: ${String(error)}`);
  }
  const told = is_faultless ? 'nothing lost, doubled or changed' : 'DIFFERENCES, see above';
  say(`seed ${seed}${name}: ${told}`);
  const is_right = is_faultless === (weakness === undefined);
  // What is not as it must be is left for who looks into it.
  if (is_right) rmSync(folder, { recursive: true, force: true });
  return is_right;
}

let are_right = true;
for (const weakness of without === undefined ? [undefined] : wanted)
  are_right = (await play(weakness)) && are_right;
process.exitCode = are_right ? 0 : 1;
