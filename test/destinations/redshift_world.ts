import assert from 'node:assert/strict';
import pg from 'pg';
import {
  damageIn,
  deliverText,
  freshDelivery,
  readContractRows,
  tablesIn,
  uuid_only,
} from '../factories/batch_exports/deliveries.ts';
import type { Delivery } from '../../server/engine/model/destination/destination.ts';
import { ssh_secrets } from '../../server/engine/destinations/sql_tables/ssh/ssh_config.ts';
import type { RedshiftConfig } from '../../server/engine/destinations/redshift/config.ts';
import { redshift } from '../../server/engine/destinations/redshift/redshift.ts';
import { openBucket } from '../../server/engine/destinations/object_store/s3_bucket.ts';
import { destinationDeps } from './destination_deps.ts';
import type { Config, DestinationUnderTest } from './destination_world.ts';
import type { DeliveryOrders } from '../processes/killed_delivery.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { betweenFiles } from '../between_files.ts';
import { accessTo, poolOf, socketOf } from '../servers/databases/embedded_postgres.ts';
import { createRedshift, openRedshiftServer } from '../servers/databases/redshift_server.ts';
import type { RedshiftServer } from '../servers/databases/redshift_server.ts';
import type { S3Server } from '../servers/object_stores/s3_server.ts';
import { copy_invalid, copy_mistakes, invalid } from './redshift_configs.ts';
import type { RefusingWorld } from './rejected_contract.ts';
import type { Mistake } from './wrong_configs.ts';

const bucket_name = 'loads';

/** A delivery of events that only have a uuid, with these changes. */
export const deliveryOf = (changes: Partial<Delivery> = {}): Delivery =>
  freshDelivery({ columns: uuid_only, ...changes });

/** A stand-in for a Redshift cluster, in one mode; with COPY, its bucket too. */
export class RedshiftWorld {
  readonly deps = destinationDeps();
  readonly mode: 'INSERT' | 'COPY';
  pool!: pg.Pool;
  server!: RedshiftServer;
  bucket!: S3Server;
  private stores!: TestStores;
  private base!: RedshiftConfig;
  private places = 0;

  /** Starts and stops it around the tests of the files that call this. */
  readonly openAroundTests = betweenFiles(
    () => this.start(),
    () => this.stop(),
  );

  constructor(mode: 'INSERT' | 'COPY') {
    this.mode = mode;
  }

  async start(): Promise<void> {
    this.stores = await openTestStores({ clickhouse: false });
    const copy = this.mode === 'COPY' ? await this.openBucket() : {};
    const { database_url } = this.stores;
    this.pool = poolOf(database_url);
    await createRedshift(this.pool);
    this.server = await openRedshiftServer(
      socketOf(database_url),
      this.mode === 'COPY' ? this.bucket : undefined,
    );
    this.base = {
      ...accessTo(database_url, this.server.port),
      properties_data_type: 'super',
      ...copy,
    };
  }

  /** Opens the bucket, and returns its part of a config. */
  private async openBucket(): Promise<Partial<RedshiftConfig>> {
    const { openS3Server } = await import('../servers/object_stores/s3_server.ts');
    this.bucket = await openS3Server([bucket_name]);
    return {
      mode: 'COPY',
      bucket_name,
      region: 'us-east-1',
      aws_access_key_id: this.bucket.access_key,
      aws_secret_access_key: this.bucket.secret_key,
      endpoint_url: this.bucket.endpoint,
    };
  }

  async stop(): Promise<void> {
    await this.pool.end();
    await this.server.close();
    if (this.mode === 'COPY') await this.bucket.close();
    await this.deps.outbound.close();
    await this.stores.close();
  }

  /** A valid config of a new schema. */
  async freshConfig(changes: Partial<RedshiftConfig> = {}): Promise<RedshiftConfig> {
    const schema = `Place "${(this.places += 1)}"`;
    await this.pool.query(`CREATE SCHEMA ${pg.escapeIdentifier(schema)}`);
    return {
      ...this.base,
      schema,
      ...(this.mode === 'COPY' ? { prefix: `/place ${this.places}/` } : {}),
      ...changes,
    };
  }

  inSchema(config: Config, table = 'events'): string {
    return `${pg.escapeIdentifier(String(config['schema']))}.${pg.escapeIdentifier(table)}`;
  }

  tables(config: Config): Promise<string[]> {
    return tablesIn(this.pool, config['schema']);
  }

  /** Keys of all objects and open uploads of a config's place in the bucket. */
  async objects(config: Config): Promise<string[]> {
    if (this.mode !== 'COPY') return [];
    const prefix = String(config['prefix']).replaceAll('/', '');
    const {
      endpoint,
      access_key: aws_access_key_id,
      secret_key: aws_secret_access_key,
    } = this.bucket;
    const place = {
      bucket_name,
      region: 'us-east-1',
      aws_access_key_id,
      aws_secret_access_key,
      endpoint_url: endpoint,
    };
    const keys = this.bucket.openUploads(bucket_name).filter((key) => key.startsWith(`${prefix}/`));
    for await (const key of openBucket(place, this.deps.outbound, this.deps.signal).list(
      `${prefix}/`,
      {
        direct: false,
      },
    ))
      keys.push(key);
    return keys;
  }

  private async readBack(config: Config): Promise<Record<string, unknown>[]> {
    return (await this.tables(config)).includes('events')
      ? readContractRows(this.pool, this.inSchema(config))
      : [];
  }

  /** Delivers lines of tab-separated text as one slice. */
  deliver(config: RedshiftConfig, delivery: Delivery, text: string): Promise<void> {
    return deliverText(redshift, { config, delivery, deps: this.deps }, text);
  }

  /** Orders for five slices of a row each, `0` to `4`. */
  async fiveSlices(): Promise<DeliveryOrders & { config: RedshiftConfig }> {
    const slices = [0, 1, 2, 3, 4].map((number) => ({
      base64: Buffer.from(`${number}\n`).toString('base64'),
      records: 1,
    }));
    return {
      type: 'Redshift',
      config: await this.freshConfig(),
      delivery: deliveryOf(),
      slices,
      place: 'writing',
    };
  }

  /** The uuids in the table, in order. */
  async delivered(config: RedshiftConfig): Promise<string[]> {
    const found = await this.pool.query<{ uuid: string }>(
      `SELECT uuid FROM ${this.inSchema(config)} ORDER BY 1`,
    );
    return found.rows.map(({ uuid }) => uuid);
  }

  /** Tables that refuse numbers from 100 on. */
  refusing(): RefusingWorld {
    return {
      definition: redshift,
      deps: () => this.deps,
      code: 'value_refused',
      freshPlace: async () => {
        const config = await this.freshConfig();
        const table = this.inSchema(config);
        await this.pool.query(`CREATE TABLE ${table} (n numeric(2, 0))`);
        return {
          config,
          relent: () => this.pool.query(`ALTER TABLE ${table} ALTER n TYPE numeric(4, 0)`),
          rows: async () =>
            (await this.pool.query<{ n: string }>(`SELECT n FROM ${table} ORDER BY n`)).rows.map(
              ({ n }) => Number(n),
            ),
          rejected: async () => {
            if (!(await this.tables(config)).includes('events_rejected')) return [];
            const found = await this.pool.query(`SELECT number, slice, code, record
              FROM ${this.inSchema(config, 'events_rejected')} ORDER BY number`);
            return found.rows;
          },
        };
      },
    };
  }

  /** The destination in the form that the contract needs. */
  under(): DestinationUnderTest {
    return {
      definition: redshift,
      start: async () => this.deps,
      stop: async () => undefined,
      configure: () => this.freshConfig(),
      // Tunnels are those of Postgres.
      planted_elsewhere: [
        ...ssh_secrets,
        ...(this.mode === 'INSERT' ? ['aws_access_key_id', 'aws_secret_access_key'] : []),
      ],
      readBack: (config) => this.readBack(config),
      leftovers: async (config) => [
        ...(await this.tables(config)).filter(
          (name) => !['events', 'sluice_receipts'].includes(name),
        ),
        ...(await this.objects(config)),
      ],
      misconfigure: (config) => this.misconfigure(config),
      ...(this.mode === 'COPY'
        ? {
            large_refused_as: 'limit_exceeded',
            large_shown_by: 'its own refusal of 4 MB',
            // It only looks at the cluster.
            verify_shown_by: 'redshift.test.ts',
          }
        : {}),
      invalid: this.mode === 'COPY' ? copy_invalid : invalid,
      damage: damageIn(
        () => this.pool,
        (config) => this.inSchema(config),
      ),
      has_nul: false,
      recovers: true,
    };
  }

  private async misconfigure(config: Config): Promise<Mistake[]> {
    await this.pool.query(`CREATE TABLE ${this.inSchema(config, 'other')} (uuid text, event text)`);
    assert.equal(config['mode'] ?? 'INSERT', this.mode);
    return this.mode === 'COPY' ? copy_mistakes : [];
  }
}
