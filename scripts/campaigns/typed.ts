// Sends events whose values do not fit the types of their columns through typed exports to
// PostgreSQL, ClickHouse, MariaDB, Parquet, Avro, JSON lines and CSV. In each place columns and
// rest must be what was sent, value for value: npm run typed [-- --seed 7 --conflicts 10000]. With
// --groups it describes groups. With --data <folder> it sends real events to Parquet, with a schema
// learnt from each kind of them.
import { makeConflicts, playTyped } from '../../test/typed/campaign.ts';
import { readRealData } from '../../test/typed/real_data.ts';
import { anySeed, readOptions } from '../options.ts';

const { seed, conflicts, data, groups } = readOptions({
  seed: anySeed(),
  conflicts: 10_000,
  data: '',
  groups: false,
});
const say = (line: string) => console.log(line);
const began = performance.now();
let compared = 0;
if (data === '') {
  const sent = makeConflicts(seed, conflicts, groups ? 'groups' : 'events');
  compared = await playTyped(sent, { where: `seed ${seed}`, say });
} else
  for (const { kind, ...sent } of await readRealData(data))
    compared += await playTyped(sent, { where: kind, only: 'Parquet', say });
const seconds = Math.round((performance.now() - began) / 1000);
console.log(`${compared} values compared, none changed or lost; ${seconds} s`);
