// Kills everything at random while a million events are exported, and counts what arrived. npm run chaos [-- events kills seed]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCampaign } from '../test/chaos/campaign.ts';

const [events = '1000000', kills = '10', seed = String(Date.now() % 100_000)] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
console.log(`${events} events, ${kills} kills, seed ${seed}`);
const outcome = await runCampaign({
  folder,
  events: Number(events),
  kills: Number(kills),
  seed: Number(seed),
  pause_ms_max: 2_500,
  say: (line) => console.log(line),
});
console.log(
  `source ${outcome.source}, delivered ${outcome.delivered}, lost ${outcome.lost}, doubled ${outcome.doubled}; ${outcome.attempts} attempts after ${outcome.kills.join(', ')}`,
);
rmSync(folder, { recursive: true, force: true });
process.exitCode = outcome.lost === 0 && outcome.doubled === 0 ? 0 : 1;
