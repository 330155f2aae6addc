// The destinations of export.ts, and for each what else would load the same bytes into it.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { selectFor } from '../../server/engine/destinations/formats/select.ts';
import { models } from '../../server/engine/model/models/index.ts';
import { openS3Server } from '../../test/servers/object_stores/s3_server.ts';
import type { BenchServer } from '../measure/bench_server.ts';
import { seconds, sourceOf } from './place.ts';
import type { Place } from './place.ts';
import { clickHousePlace, httpPlace, mySqlPlace, postgresPlace } from './servers.ts';

const run = promisify(execFile);
const { files } = models.events.columns;

/** The places by name; each is opened when it is used. */
export function openPlaces(server: BenchServer): [string, () => Promise<Place>][] {
  const parquet = { format: 'Parquet', compression: 'zstd' } as const;
  const lines = { format: 'JSONLines', compression: null } as const;
  return [
    ['File, JSON lines', async () => filePlace(server, 'File, JSON lines', lines)],
    ['File, Parquet', async () => filePlace(server, 'File, Parquet', parquet)],
    ['S3, JSON lines', () => s3Place(server, 'S3, JSON lines', lines)],
    ['S3, Parquet', () => s3Place(server, 'S3, Parquet', parquet)],
    ['Postgres', () => postgresPlace(server)],
    ['MySQL', () => mySqlPlace(server)],
    ['ClickHouse', () => clickHousePlace(server)],
    ['HTTP', () => httpPlace(server)],
  ];
}

type FileEncoding =
  | { format: 'JSONLines'; compression: null }
  | { format: 'Parquet'; compression: 'zstd' };

/** ClickHouse writes the same query, in the same order, into a file on the same disk. */
function filePlace({ folder, clickhouse }: BenchServer, name: string, encoding: FileEncoding) {
  const select = selectFor(encoding, files);
  const own_folder = join(folder, 'own');
  const place: Place = {
    name,
    own_name: 'ClickHouse into a file',
    aim: 0.95,
    destination: async () => ({
      type: 'File',
      config: { prefix: 'ours', file_format: encoding.format, compression: encoding.compression },
    }),
    own: async (team_id) => {
      mkdirSync(own_folder, { recursive: true });
      const target = join(own_folder, `own.${encoding.format}`);
      const loaded = await seconds(() =>
        clickhouse.command({
          query: `INSERT INTO FUNCTION file('${target}', '${select.format}')
            SELECT ${select.expressions} ${sourceOf(team_id)}`,
          clickhouse_settings: { ...select.settings, engine_file_truncate_on_insert: 1 },
        }),
      );
      return { loaded, flushed: loaded + (await seconds(() => run('sync', ['--data', target]))) };
    },
    tidyUp: async () => {
      rmSync(own_folder, { recursive: true, force: true });
      rmSync(join(folder, 'exports'), { recursive: true, force: true });
    },
  };
  return place;
}

async function s3Place({ clickhouse }: BenchServer, name: string, encoding: FileEncoding) {
  const select = selectFor(encoding, files);
  const store = await openS3Server(['bucket']);
  let round = 0;
  const place: Place = {
    name,
    own_name: "ClickHouse's s3()",
    aim: 0.95,
    destination: async () => ({
      type: 'S3',
      config: {
        bucket_name: 'bucket',
        region: 'us-east-1',
        aws_access_key_id: store.access_key,
        aws_secret_access_key: store.secret_key,
        endpoint_url: store.endpoint,
        prefix: `ours-${(round += 1)}`,
        file_format: encoding.format,
        compression: encoding.compression,
      },
    }),
    own: async (team_id) => ({
      loaded: await seconds(() =>
        clickhouse.command({
          query: `INSERT INTO FUNCTION s3('${store.endpoint}/bucket/own-${round}',
            '${store.access_key}', '${store.secret_key}', '${select.format}')
            SELECT ${select.expressions} ${sourceOf(team_id)}`,
          clickhouse_settings: select.settings,
        }),
      ),
    }),
    tidyUp: async () => undefined,
    close: () => store.close(),
  };
  return place;
}
