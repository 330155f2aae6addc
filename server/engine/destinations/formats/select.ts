import type { Column } from '../../model/models/column.ts';
import { selectAvro } from './avro/avro.ts';
import { selectCsv } from './text/csv.ts';
import type { Encoding, FileFormat } from '../../model/destination/encoding.ts';
import { selectJsonLines } from './text/jsonlines.ts';
import { selectParquet } from './parquet/parquet.ts';
import type { FormatSelection } from './expression.ts';
import { selectTabSeparated } from './text/tabseparated.ts';

/**
 * Encoding of source rows for a comparison with a destination: values are not altered for any
 * store, and null differs from text.
 */
export const content_encoding = {
  format: 'CSV' satisfies FileFormat,
  compression: null,
} as const;

/**
 * Returns the statement with which ClickHouse writes the final bytes of an encoding (before
 * compression; Parquet and Avro with it): `SELECT expressions FROM ... FORMAT format` with
 * `settings`. Guarantee: the same rows in the same order give the same bytes; for Avro, after
 * `encodeStage`. `marked`: with a mark before each value that its place could not store, which
 * `encodeStage` removes; binary formats have no room for marks.
 */
export function selectFor(
  encoding: Encoding,
  columns: Column[],
  options: { marked?: boolean } = {},
): FormatSelection {
  const marked = options.marked === true;
  switch (encoding.format) {
    case 'JSONLines':
      return selectJsonLines(columns, marked);
    case 'CSV':
      return selectCsv(columns, marked);
    case 'Parquet':
      return selectParquet(columns, encoding);
    case 'Avro':
      return selectAvro(columns, encoding.compression);
    case 'TabSeparated':
      return selectTabSeparated(columns, {
        marked,
        is_exact: encoding.is_exact === true,
        is_bare: encoding.is_bare === true,
        has_names: encoding.has_names === true,
      });
  }
}
