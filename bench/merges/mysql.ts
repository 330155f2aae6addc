import { Readable } from 'node:stream';
import mysql from 'mysql2/promise';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { openMySqlStore } from '../../test/merges/stores.ts';
import { first_version, json, list, others } from './table.ts';
import type { ByHand, MergedPlace } from './table.ts';

const statement_rows = 5_000;
const filled_rows = 500_000;

const instant = (text: string) => text.replace('T', ' ').replace('Z', '');

/** MariaDB. Bytes are those of InnoDB's log. */
export async function openMySqlPlace(): Promise<MergedPlace> {
  const store = await openMySqlStore();
  const place = await store.open();
  const { host, port, user, password, database, table_name } =
    place.config as mysql.ConnectionOptions & Record<'table_name', string>;
  const access = {
    host: host!,
    port: port!,
    user: user!,
    password: password!,
    database: database!,
  };
  const open = async () => {
    const opened = await mysql.createConnection({ ...access, charset: 'utf8mb4', timezone: 'Z' });
    await opened.query("SET sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00'");
    return opened;
  };
  const session = await open();
  // Each way opens its own session, like a job that runs now and then.
  const inSession =
    (way: (session: Connection, table: string) => ByHand): ByHand =>
    async (...given) => {
      const own = await open();
      await way(own, table_name)(...given);
      await own.end();
    };
  const rows = async (statement: string) => (await session.query<RowDataPacket[]>(statement))[0];
  return {
    place,
    fill: async (count) => {
      for (let from = 1; from <= count; from += filled_rows)
        await session.query(
          `INSERT INTO ${table_name} (${list}) SELECT seq, CONCAT('name of ', seq), ${json},
            seq / 7, '${first_version}', false
            FROM seq_${from}_to_${Math.min(count, from + filled_rows - 1)}`,
        );
    },
    own: {
      'INSERT ... ON DUPLICATE KEY': inSession(insertMany),
      'LOAD DATA, UPDATE and INSERT': inSession(loadAndUpdate),
    },
    settle: async () => undefined,
    written: async () => {
      const found = await rows('SHOW GLOBAL STATUS');
      const of = (name: string) =>
        Number(found.find((row) => row['Variable_name'] === name)?.['Value'] ?? 0);
      return {
        rows: of('Handler_write') + of('Handler_update'),
        bytes: of('Innodb_os_log_written'),
      };
    },
    count: async (changed) => {
      const where = `changed = '${instant(changed)}'`;
      const [row] = await rows(`SELECT COUNT(*) AS n FROM ${table_name} WHERE ${where}`);
      return Number(row!['n']);
    },
    close: async () => {
      await session.end();
      await store.close();
    },
  };
}

function insertMany(session: Connection, table: string): ByHand {
  const newer = `VALUES(changed) > ${table}.changed`;
  const assigned = others.map(
    (name) => `${name} = IF(${newer}, VALUES(${name}), ${table}.${name})`,
  );
  return async (rows) => {
    const values = rows.map((row) => {
      const [id, name, properties, total, changed, is_deleted] = row as string[];
      const texts = [name, properties].map((one) => session.escape(one));
      return `(${id}, ${texts.join(', ')}, ${total}, '${instant(changed!)}', ${is_deleted})`;
    });
    await session.query('START TRANSACTION');
    for (let at = 0; at < values.length; at += statement_rows)
      await session.query(
        `INSERT INTO ${table} (${list}) VALUES ${values.slice(at, at + statement_rows).join(', ')}
          ON DUPLICATE KEY UPDATE ${assigned.join(', ')}`,
      );
    await session.query('COMMIT');
  };
}

function loadAndUpdate(session: Connection, table: string): ByHand {
  return async (_rows, lines) => {
    await session.query(`CREATE TEMPORARY TABLE stage LIKE ${table}`);
    await session.query('START TRANSACTION');
    await session.query({
      sql: `LOAD DATA LOCAL INFILE 'stage' INTO TABLE stage CHARACTER SET utf8mb4
        (id, name, properties, total, @changed, @is_deleted)
        SET changed = REPLACE(REPLACE(@changed, 'T', ' '), 'Z', ''),
          is_deleted = @is_deleted = 'true'`,
      infileStreamFactory: () => Readable.from([Buffer.from(lines)]),
    });
    await session.query(`UPDATE ${table} AS t JOIN stage AS s ON t.id = s.id
      SET ${others.map((name) => `t.${name} = s.${name}`).join(', ')}
      WHERE s.changed > t.changed`);
    await session.query(`INSERT INTO ${table} (${list}) SELECT ${list} FROM stage AS s
      WHERE NOT EXISTS (SELECT 1 FROM ${table} AS t WHERE t.id = s.id)`);
    await session.query('COMMIT');
    await session.query('DROP TEMPORARY TABLE stage');
  };
}
