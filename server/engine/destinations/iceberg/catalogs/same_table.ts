import { RetryableError } from '../../../model/destination/errors.ts';
import type { TableState } from '../../lake/table_metadata.ts';

/**
 * Throws unless this is the table that files were written for, because they contain its field ids.
 */
export function requireSameTable(state: TableState | undefined, uuid: string): void {
  if (state?.metadata['table-uuid'] !== uuid)
    throw new RetryableError(
      'slice_lost',
      'The table was dropped, or dropped and created again, while its files were written; they ' +
        'are written again.',
    );
}
