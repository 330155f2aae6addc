// Plays random histories of an export on the real control store and checks each to the row, as
// server/engine/planning/histories.test.ts does with fewer: npm run histories [-- --histories 1000
// --seed 7]
import { parseArgs } from 'node:util';
import { openHarness } from '../test/harness.ts';
import { checkHistories } from '../test/histories/check.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [histories, seed] = [Number(values.histories), Number(values.seed)];
const house = await openHarness({ clickhouse: false });
try {
  console.log(`${histories} histories, seed ${seed}`);
  const began = performance.now();
  const runs = await checkHistories(house, histories, seed);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `seed ${seed}: what was delivered is the source in all ${histories} histories; runs ` +
      `${JSON.stringify(runs)}; ${seconds} s`,
  );
} finally {
  await house.close();
}
