import sql, { raw } from 'sql-template-tag';
import type { Database } from '../postgres/database.ts';
import type { Secrets } from './secrets.ts';

/**
 * A column of envelopes: `id` names its rows, and `owner` the row of their context, by default the
 * same column.
 */
export type SealedField = {
  table: string;
  id: string;
  field: string;
  owner?: string;
  context(owner: string): string;
};

/**
 * The result of a column. `unreadable` lists the rows that no accepted secret key opens; they stay
 * unchanged.
 */
export type Rewrapped = { table: string; field: string; rewrapped: number; unreadable: string[] };

/** Number of envelopes in a batch; each batch is a statement of its own. */
const lot_rows = 500;

/**
 * Wraps the data key of every envelope of the column under the present secret key. Guarantees: an
 * envelope that changes meanwhile is skipped; finished work survives a kill, and the next call
 * continues with the rest; no content is decrypted.
 */
export async function rewrapField(
  db: Database,
  secrets: Secrets,
  sealed: SealedField,
): Promise<Rewrapped> {
  const [table, id, field, owner] = [
    sealed.table,
    sealed.id,
    sealed.field,
    sealed.owner ?? sealed.id,
  ].map((name) => raw(`"${name}"`)) as [Raw, Raw, Raw, Raw];
  const result: Rewrapped = {
    table: sealed.table,
    field: sealed.field,
    rewrapped: 0,
    unreadable: [],
  };
  for (let last = ''; ;) {
    const rows = await db.rows<{ id: string; owner: string; envelope: Buffer }>(sql`
      SELECT ${id}::text AS id, ${owner}::text AS owner, ${field} AS envelope FROM ${table}
        WHERE ${field} IS NOT NULL AND ${id}::text > ${last} ORDER BY ${id}::text
        LIMIT ${lot_rows}`);
    if (rows.length === 0) return result;
    last = rows.at(-1)!.id;
    const changed = rows.flatMap(({ id: row_id, owner: row_owner, envelope }) => {
      try {
        const next = secrets.rewrap(envelope, sealed.context(row_owner));
        return next === undefined ? [] : [{ id: row_id, envelope, next }];
      } catch {
        result.unreadable.push(row_id);
        return [];
      }
    });
    if (changed.length === 0) continue;
    result.rewrapped += await db.run(sql`
      UPDATE ${table} kept SET ${field} = changed.next
      FROM unnest(${changed.map((row) => row.id)}::text[],
        ${changed.map((row) => row.envelope)}::bytea[],
        ${changed.map((row) => row.next)}::bytea[]) AS changed (id, envelope, next)
      WHERE kept.${id}::text = changed.id AND kept.${field} = changed.envelope`);
  }
}

type Raw = ReturnType<typeof raw>;
