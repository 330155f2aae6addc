import { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

type Strength = 'UPDATE' | 'NO KEY UPDATE' | 'SHARE';

/**
 * Returns the locking clause of a SELECT, whose rows stay unchanged until the transaction ends, if
 * `wanted`; otherwise nothing. `clause` is complete, table included, because it is code and no
 * value.
 */
export function locking(
  wanted: string | undefined,
  clause: `FOR ${Strength}` | `FOR ${Strength} OF ${string}`,
): Sql {
  return wanted === undefined ? empty : raw(clause);
}
