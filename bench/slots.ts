// Asks for the slots of an export with a long history: 200,000 slots of five minutes, 5 % of which
// failed or are missing, and a million runs. Run:
//   npm run bench slots [-- --slots 200000 --backfill_runs 800000 --rounds 3]
import { newExport, projectBase } from '../test/factories/batch_exports/batch_exports.ts';
import { buildApp } from '../server/app.ts';
import { openHarness } from '../test/harness.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { history_start, plantHistory } from './plant/runs.ts';

const options = readBenchOptions({ slots: '200000', backfill_runs: '800000', rounds: '3' });
const slots = Number(options.slots);
const backfill_runs = Number(options.backfill_runs);

async function main(): Promise<void> {
  const harness = await openHarness({ clickhouse: false });
  try {
    const home = await harness.newOrganization();
    const { id } = await newExport(home, { interval: 'every 5 minutes' });
    await plantHistory(harness, id, { slots, backfill_runs });
    await harness.deps.db.text('VACUUM ANALYZE batch_export_runs');
    // The harness's own app would check every answer against its schema.
    const app = buildApp(harness.deps);
    const to = new Date(Date.parse(history_start) + slots * 300_000).toISOString();
    const took: number[] = [];
    let what = '';
    for (let round = 0; round < Number(options.rounds); round += 1) {
      const began = performance.now();
      const answer = await app.inject({
        method: 'GET',
        url: `${projectBase(home)}${id}/slots/?after=${history_start}&before=${to}`,
        headers: { authorization: `Bearer ${home.key}` },
      });
      took.push(performance.now() - began);
      if (answer.statusCode !== 200) throw new Error(answer.body);
      const body = answer.json<{ slots: number; ranges: unknown[] }>();
      what = `${body.ranges.length} ranges of ${slots} slots of one export`;
    }
    tell({ what, unit: 'ms', better: 'less', ours: took });
    await app.close();
  } finally {
    await harness.close();
  }
}

await main();
