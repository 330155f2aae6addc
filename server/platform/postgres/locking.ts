import { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

type Strength = 'UPDATE' | 'NO KEY UPDATE' | 'SHARE';

/**
 * The end of a SELECT whose rows stay as they are until the transaction ends when `wanted` is said;
 * else nothing. `clause` is written out, table included, because it is code and no value.
 */
export function locking(
  wanted: string | undefined,
  clause: `FOR ${Strength}` | `FOR ${Strength} OF ${string}`,
): Sql {
  return wanted === undefined ? empty : raw(clause);
}
