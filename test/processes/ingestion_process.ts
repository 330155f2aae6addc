// A process that ingests events as fast as it can. The test kills it in the middle. Arguments:
// PostgreSQL URL, ClickHouse URL, team id, number of the first batch. Event i of batch n has a uuid
// that only depends on n and i. For each stored batch, standard output has a line with its number.
import { writeSync } from 'node:fs';
import { openIngestion } from '../../server/engine/ingest/batcher.ts';
import { parseEvent } from '../../server/engine/ingest/parse/parse.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';

const [databaseUrl = '', clickhouseUrl = '', team = '', first = ''] = process.argv.slice(2);
const db = openDatabase(databaseUrl, { connections_max: 4, application_name: 'ingestion-process' });
const clickhouse = openClickHouse(clickhouseUrl, { application: 'ingestion-process' });
const [log, clock] = [silentLog(), systemClock];
const secrets = openSecrets('a secret');
const ingestion = openIngestion({ db, clickhouse, log, clock, secrets });
const events_per_batch = 20;

for (let batch = Number(first); ; batch += 1) {
  const events = Array.from({ length: events_per_batch }, (_none, index) => {
    const number = (batch * events_per_batch + index).toString(16).padStart(12, '0');
    const uuid = `00000000-0000-4000-8000-${number}`;
    const read = parseEvent(
      JSON.stringify({ event: 'e', distinct_id: `d${index % 3}`, uuid, $set: { batch } }),
      systemClock.now(),
    );
    if (read.event === undefined) throw new Error('The event is wrong.');
    return read.event;
  });
  const { stored } = await ingestion.add(Number(team), events);
  const result = await stored;
  if (result.failure === undefined) writeSync(1, `${batch}\n`);
  else batch -= 1;
}
