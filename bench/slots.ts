// Asks for the slots of an export with a long history: 200,000 slots of five minutes, 5 % of which
// failed or are missing, and a million runs. Run: npm run bench slots
import { newExport, projectBase } from '../test/factories/batch_exports.ts';
import { buildApp } from '../server/app.ts';
import { openHarness } from '../test/harness.ts';
import { history_start, plantHistory } from './planted_runs.ts';

const slots = 200_000;
const backfill_runs = 800_000;
const rounds = 3;

async function main(): Promise<void> {
  const house = await openHarness({ clickhouse: false });
  try {
    const home = await house.newOrganization();
    const { id } = await newExport(house, home, { interval: 'every 5 minutes' });
    await plantHistory(house, id, { slots, backfill_runs });
    await house.deps.db.text('VACUUM ANALYZE batch_export_runs');
    // Not the harness's own app, which checks every answer against its schema.
    const app = buildApp(house.deps);
    const to = new Date(Date.parse(history_start) + slots * 300_000).toISOString();
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      const answer = await app.inject({
        method: 'GET',
        url: `${projectBase(home)}${id}/slots/?after=${history_start}&before=${to}`,
        headers: { authorization: `Bearer ${home.key}` },
      });
      const took = Math.round(performance.now() - began);
      const body = answer.json<{ slots: number; ranges: unknown[]; next: string | null }>();
      console.log(
        `${answer.statusCode}: ${body.slots} slots, ${body.ranges.length} ranges, ` +
          `${answer.body.length} bytes in ${took} ms; more: ${body.next !== null}`,
      );
    }
    await app.close();
  } finally {
    await house.close();
  }
}

await main();
