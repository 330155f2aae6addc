// Plays random histories of rows (late, twice, deleted, with equal versions and with none, by two
// exports, with broken attempts and lost answers) into PostgreSQL, MariaDB and ClickHouse by merge.
// Each table must be as a model in plain code says, whatever the order. --naive takes a merge such
// as one writes it in a hurry, which fails. npm run merges [-- --seed 7 --histories 100000]
import { playHistories } from '../../test/merges/campaign.ts';
import {
  openClickHouseStore,
  openMySqlStore,
  openPostgresStore,
} from '../../test/merges/stores.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, histories, keys, naive } = readOptions({
  seed: anySeed(),
  histories: 100_000,
  keys: 1_000,
  naive: false,
});
console.log(`${histories} histories in each store, seed ${seed}`);
const openers = naive
  ? [() => openPostgresStore({ naive: true })]
  : [openPostgresStore, openMySqlStore, openClickHouseStore];
for (const open of openers) {
  const began = performance.now();
  const store = await open();
  try {
    const say = (line: string) => console.log(line);
    const rows = await playHistories(store, { seed, histories, keys, say });
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(
      `${store.name}, seed ${seed}: both tables of each round are as the model in all ` +
        `${histories} histories (${rows} rows); ${seconds} s`,
    );
  } finally {
    await store.close();
  }
}
