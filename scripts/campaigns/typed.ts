// Sends events whose values do not fit the types of their columns through typed exports to
// PostgreSQL, ClickHouse, MariaDB, Parquet, JSON lines and CSV. In each place columns and rest must
// be what was sent, value for value: npm run typed [-- --seed 7 --conflicts 10000]
import { playConflicts } from '../../test/typed/campaign.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, conflicts } = readOptions({ seed: anySeed(), conflicts: 10_000 });
console.log(`${conflicts} values that do not fit, seed ${seed}`);
const began = performance.now();
const compared = await playConflicts({ seed, conflicts, say: (line) => console.log(line) });
const seconds = Math.round((performance.now() - began) / 1000);
console.log(`seed ${seed}: ${compared} values compared, none changed or lost; ${seconds} s`);
