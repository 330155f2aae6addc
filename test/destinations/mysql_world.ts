import type { RowDataPacket } from 'mysql2/promise';
import { destinationDeps } from './destination_deps.ts';
import type { Sink } from '../../server/engine/model/destination/destination.ts';
import type { MySqlConfig } from '../../server/engine/destinations/mysql/config.ts';
import { mysql } from '../../server/engine/destinations/mysql/mysql.ts';
import type { DeliveryOrders, KillPlace } from '../processes/killed_delivery.ts';
import { openMariaDb } from '../servers/databases/mariadb_server.ts';
import type { MariaDbServer } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import type { MySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { uuidDelivery } from '../servers/databases/postgres_destination.ts';

/** A delivery to a new table. */
export type MySqlOrders = DeliveryOrders & { config: MySqlConfig };

/** A MariaDB for deliveries of whole numbers, for the tests of one file. */
export class MySqlWorld {
  readonly deps = destinationDeps();
  server!: MariaDbServer;
  proxy!: MySqlProxy;
  private places = 0;

  async start(): Promise<void> {
    this.server = await openMariaDb();
    this.proxy = await openMySqlProxy(this.server.port, { tls: true });
    await this.run('CREATE DATABASE warehouse');
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.server.close();
    await this.deps.outbound.close();
  }

  async rows<Row>(statement: string): Promise<Row[]> {
    const admin = await this.server.admin();
    try {
      return (await admin.query<RowDataPacket[]>(statement))[0] as Row[];
    } finally {
      await admin.end();
    }
  }

  async run(statement: string): Promise<void> {
    await this.rows(statement);
  }

  /** Four numbers in two slices. */
  freshOrders(place: KillPlace, port = this.proxy.port): MySqlOrders {
    const slice = (from: number) => ({
      base64: Buffer.from(`${from}\n${from + 1}\n`).toString('base64'),
      records: 2,
    });
    return {
      type: 'MySQL',
      config: {
        user: this.server.user,
        password: this.server.password,
        host: '127.0.0.1',
        port,
        has_self_signed_cert: true,
        database: 'warehouse',
        table_name: `place_${(this.places += 1)}`,
      },
      delivery: uuidDelivery({
        columns: [{ name: 'n', type: 'integer', nullable: false, expression: 'n' }],
      }),
      slices: [slice(0), slice(2)],
      place,
    };
  }

  async delivered({ config }: MySqlOrders): Promise<number[]> {
    return (
      await this.rows<{ n: number }>(`SELECT n FROM warehouse.${config.table_name} ORDER BY n`)
    ).map((row) => row.n);
  }

  openSink({ config, delivery }: MySqlOrders, attempt = 1): Promise<Sink> {
    return mysql.open(config, { ...delivery, attempt }, this.deps);
  }

  /** Names of all stages. */
  async stages(): Promise<string[]> {
    const found = await this.rows<{ name: string }>(
      'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_NAME LIKE ' +
        "'sluice\\_stage%'",
    );
    return found.map(({ name }) => name);
  }
}
