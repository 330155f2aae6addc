// Plays random histories into PostgreSQL, MariaDB and ClickHouse by merge. A history is the random
// sequence of the rows of one order, or of a few persons who are merged: late, twice, deleted,
// moved to another key, with equal versions and with none. Two exports deliver them to one table;
// their workers are killed, break off and deliver twice, commits are lost before and after the
// server made them, and some tables start again with another key. Each table must be as a model in
// plain code says, whatever the order. --naive takes a merge such as one writes it in a hurry, a
// history at a time, until it fails. --store PostgreSQL plays into that one alone.
// npm run merges [-- --seed 7 --histories 100000]
import { playHistories } from '../../test/merges/campaign.ts';
import {
  openClickHouseStore,
  openMySqlStore,
  openPostgresStore,
} from '../../test/merges/stores.ts';
import { anySeed, readOptions } from '../options.ts';

const {
  seed,
  histories,
  keys,
  naive,
  store: only,
} = readOptions({
  seed: anySeed(),
  histories: 100_000,
  keys: 1_000,
  naive: false,
  store: '',
});
console.log(`${histories} histories in each store, seed ${seed}`);
const openers = naive
  ? { naive: () => openPostgresStore({ naive: true }) }
  : { PostgreSQL: openPostgresStore, MariaDB: openMySqlStore, ClickHouse: openClickHouseStore };
for (const [name, open] of Object.entries(openers)) {
  if (only !== '' && name !== only) continue;
  const began = performance.now();
  const store = await open();
  try {
    const say = (line: string) => console.log(line);
    const played = await playHistories(store, { seed, histories, keys: naive ? 1 : keys, say });
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(
      `${name}, seed ${seed}: every table is as the model; ${JSON.stringify(played)}; ${seconds} s`,
    );
  } finally {
    await store.close();
  }
}
