// Lets a server work on a stand-in for a ClickHouse cluster that misbehaves, kills its processes
// and engines, and compares every replica and every exported file with what was answered for. With
// --without, the stand-in lacks one protection of a cluster after the other (`all`, or some), and
// the campaign must find that; --only is the one kind of cut to do. Exit code 1: something was
// lost, doubled or changed, or a missing protection was not found. npm run cluster
// [-- --kills 20 --cuts 20 --seed 7 --mode on_cluster]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCampaign } from '../../test/clickhouse_cluster/campaign.ts';
import { control_names, runControls } from '../../test/clickhouse_cluster/controls.ts';
import { isFaultless } from '../../test/clickhouse_cluster/judge.ts';
import { cuts as cuts_known } from '../../test/clickhouse_cluster/nemesis.ts';
import { anySeed, readOptions, refuse } from '../options.ts';

const { kills, cuts, seed, without, only, ...options } = readOptions({
  kills: 20,
  cuts: 20,
  seed: anySeed(),
  mode: 'replicated_database',
  without: '',
  only: '',
});
const mode = options.mode === 'on_cluster' ? 'on_cluster' : 'replicated_database';
const kinds = only === '' ? undefined : cuts_known.filter((kind) => kind === only);
if (kinds?.length === 0) refuse(`--only takes one of: ${[...new Set(cuts_known)].join(', ')}.`);
const named = without.split(', ');
const wanted = control_names.filter((name) => without === 'all' || named.includes(name));
if (without !== '' && wanted.length === 0)
  refuse(`--without takes all, or some of: ${control_names.join(', ')}.`);

const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
console.log(`${kills} kills, ${cuts} cuts, seed ${seed}, ${mode}; in ${folder}`);
const began = performance.now();
const say = (line: string) =>
  console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
const campaign = { folder, mode, kills, cuts, seed, kinds, say } as const;

async function isFound(): Promise<boolean> {
  const controls = await runControls(campaign, wanted);
  for (const { name, protection, seed: of_play, found } of controls)
    console.log(`| ${protection} | ${name} | ${of_play} | ${found || '**NOTHING**'} |`);
  return controls.every(({ found }) => found !== '');
}

async function isWhole(): Promise<boolean> {
  const outcome = await runCampaign(campaign);
  console.log(JSON.stringify(outcome, null, 2));
  const is_whole = isFaultless(outcome);
  console.log(`seed ${seed}: ${is_whole ? 'nothing lost, doubled or changed' : 'DIFFERENCES'}`);
  return is_whole;
}

const passed = await (without === '' ? isWhole() : isFound());
// Keeps the folder with the faults for an inspection.
if (passed) rmSync(folder, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
