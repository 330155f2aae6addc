import type { Column } from '../../../model/models/column.ts';
import type { Compression } from '../../../model/destination/encoding.ts';
import { common_settings, identifier } from '../expression.ts';
import type { FormatSelection } from '../expression.ts';
import { typedValue } from '../typed_value.ts';

/**
 * An Avro object container file, compressed block by block. It is a record with a field for each
 * column, a union with null if it may be null. Instants, days, exact numbers and uuids are logical
 * types.
 */
export function selectAvro(columns: Column[], compression: Compression | null): FormatSelection {
  return {
    expressions: columns
      .map(
        (column, index) =>
          `${typedValue(column, index, { uuid_type: 'UUID' })} AS ${identifier(column.name)}`,
      )
      .join(', '),
    format: 'Avro',
    settings: {
      ...common_settings,
      output_format_avro_codec: compression ?? 'null',
      // all texts are UTF-8, which Avro's `string` requires and its `bytes` does not
      output_format_avro_string_column_pattern: '.*',
      output_format_avro_sync_interval: 64 * 1024,
    },
  };
}
