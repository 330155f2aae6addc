import { Readable } from 'node:stream';
import type { ErasedRows } from '../../model/destination/destination.ts';
import { identifier } from '../formats/expression.ts';
import { erasedColumn, hasOwn } from '../sql_tables/layout.ts';
import { inDatabase } from './config.ts';
import type { Session } from './session.ts';

/**
 * Deletes rows of the table by the column of the erased keys, and waits until none is left.
 * Meanwhile a table of the delivery's attempt holds the keys: the server stores the text of such a
 * statement for long. May be repeated; leftovers of a kill are removed with the stages of the
 * delivery.
 */
export async function eraseRows(session: Session, erased: ErasedRows): Promise<void> {
  const { connection, delivery, stage } = session;
  const keys = inDatabase(connection.config, `${stage.table}_erased`);
  const target = connection.target.quoted;
  const column = identifier(erasedColumn(delivery));
  const ofTeam = hasOwn(delivery.columns, 'team_id')
    ? ` AND ${identifier('team_id')} = ${delivery.team_id}`
    : '';
  const condition = `toString(${column}) IN (SELECT row_key FROM ${keys})${ofTeam}`;
  await connection.command(`DROP TABLE IF EXISTS ${keys} SYNC`);
  await connection.command(
    `CREATE TABLE ${keys} (row_key String) ENGINE = MergeTree ORDER BY row_key`,
  );
  try {
    for await (const some of erased.keys())
      await connection.insert(
        `INSERT INTO ${keys} (row_key) FORMAT JSONEachRow`,
        Readable.from([
          Buffer.from(some.map((row_key) => `${JSON.stringify({ row_key })}\n`).join('')),
        ]),
      );
    await connection.command(
      `ALTER TABLE ${target} DELETE WHERE ${condition}
        SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1`,
    );
  } finally {
    await connection.command(`DROP TABLE IF EXISTS ${keys} SYNC`);
  }
}
