import { buffer } from 'node:stream/consumers';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { stopError } from '../../model/destination/stop.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { encodeStage } from './encode_stage.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { selectFor } from './select.ts';
import { literalColumns } from './text_row.ts';
import type { TextRow } from '../../model/models/column.ts';

/**
 * Returns the bytes that a run would send of a slice with this one row: ClickHouse writes them by
 * the same settings, with the same compression. Rejects with a sentence for the user if the store
 * cannot write them.
 */
export async function encodeRow(
  clickhouse: ClickHouse,
  row: TextRow,
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Buffer> {
  const { expressions, format, settings } = selectFor(encoding, literalColumns(row));
  try {
    const { stream } = await clickhouse.exec({
      query: `SELECT ${expressions} FORMAT ${format}`,
      clickhouse_settings: settings,
      abort_signal: signal,
    });
    return await buffer(encodeStage(encoding).pipeline(stream));
  } catch (error) {
    if (signal.aborted) throw stopError(signal);
    throw new RetryableError(
      'store_fault',
      'The analytics store of this server did not write the row. Test again; if this happens ' +
        'again, ask the operator to check the store.',
      { cause: error },
    );
  }
}
