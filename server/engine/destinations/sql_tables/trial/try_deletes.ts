import { KnownError, NonRetryableError } from '../../../model/destination/errors.ts';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import type { Trial } from './check_place.ts';
import type { Dialect } from '../dialect.ts';
import { receipts_table } from '../receipts.ts';

type Grant<Session> = (session: Session, table: string) => Promise<string> | string;

/**
 * Returns the step of a connection test that tries to delete rows, for an export that replaces its
 * table; it deletes no row. `table` is the quoted table that the test writes to, and `grant` the
 * statement that gives the user the right.
 */
export function tryDeletes<Session extends Dialect>(
  { replaces }: DestinationDeps,
  { table, grant }: { table: (session: Session) => string; grant: Grant<Session> },
): NonNullable<Trial<Session>['own']> {
  if (replaces !== true) return [];
  const run = async (session: Session) => {
    const { target, findColumns } = session;
    const has_receipts = (await findColumns(receipts_table)) !== undefined;
    for (const one of [table(session), ...(has_receipts ? [target.receipts] : [])])
      await grantedOr(session, () => grant(session, one), {
        what: `delete rows of ${one}`,
        work: () => session.rows(`DELETE FROM ${one} WHERE 1 = 0`),
      });
    return 'The user may delete rows, as replacing the table does. None was deleted.';
  };
  return [{ behind: 'Write a row', name: 'Delete rows', run }];
}

/**
 * Returns the step for the target itself, in a database whose users have rights by their own names.
 */
export function tryUserDeletes<Session extends Dialect>(deps: DestinationDeps, user: string) {
  return tryDeletes<Session>(deps, {
    table: ({ target }) => target.quoted,
    grant: ({ quoted }, table) => `GRANT DELETE ON ${table} TO ${quoted(user)}`,
  });
}

/**
 * Runs an operation for which a delivery that replaces needs a right; a refusal says how to grant
 * it.
 */
export async function grantedOr(
  { explained }: Pick<Dialect, 'explained'>,
  grant: () => Promise<string> | string,
  { what, work }: { what: string; work: () => Promise<unknown> },
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const told = explained(error);
    if (!(told instanceof KnownError) || told.code !== 'permission_denied') throw error;
    throw new NonRetryableError(
      'permission_denied',
      `The user may not ${what}, and the mode replace needs that. Run this as an administrator: ` +
        `${await grant()};`,
      { cause: error },
    );
  }
}
