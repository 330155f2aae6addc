import sql, { raw } from 'sql-template-tag';
import type { Logger } from '../../platform/log.ts';
import { withPlainDomain } from '../../platform/mail/mailbox.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

const columns = [
  { table: 'users', column: 'email', beside: '' },
  { table: 'invites', column: 'target_email', beside: 'AND o.organization_id = t.organization_id' },
];

/**
 * Brings addresses from before `withPlainDomain` into its spelling; several processes may do so at
 * once. One whose mailbox has another account, or invite, already stays as it is, and the log says
 * so.
 */
export async function plainStoredDomains(db: Queryable, log: Logger): Promise<void> {
  for (const { table, column, beside } of columns) {
    const [name, address] = [raw(table), raw(column)];
    const found = await db.rows<{ id: string | number; stored: string }>(
      sql`SELECT id, ${address} AS stored FROM ${name} WHERE ${address} ~ '@.*[^\u0001-\u007f]'`,
    );
    for (const { id, stored } of found) {
      const plain = withPlainDomain(stored);
      if (plain === stored) continue;
      const changed = await db.run(sql`
        UPDATE ${name} t SET ${address} = ${plain} WHERE t.id = ${id} AND t.${address} = ${stored}
          AND NOT EXISTS (
          SELECT 1 FROM ${name} o WHERE comparable_address(o.${address}) =
            comparable_address(${plain}) ${raw(beside)})`);
      if (changed === 0)
        log.warn(
          { table, id },
          'an address stays in a spelling that nobody is found by: another row has its mailbox',
        );
    }
  }
}
