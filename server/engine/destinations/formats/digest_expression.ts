import { crc32 } from 'node:zlib';
import { json_separators, unreadable_json } from '../contents/digest.ts';
import type { Column } from '../../model/models/column.ts';
import { identifier, literal } from './expression.ts';

/**
 * Settings for a query with `digestExpression` over a relation. The store must not merge the two:
 * with the relation's expressions inside the digest's conditions, the sum takes twice as long. It
 * also runs at a lower priority than the rows, which the embedded store applies for any `priority`.
 * The destination waits for the rows, and the digest is only needed after them.
 */
export const digest_settings = {
  query_plan_merge_expressions: 0,
  priority: 100,
};

/**
 * Returns ClickHouse SQL for the sum of `openRowDigest`, as a number in text. The relation has the
 * columns as `selectCsv` returns them.
 */
export function digestExpression(columns: Column[]): string {
  const texts = columns.map(
    (column) => `ifNull(${textOf(column)}, ${literal('\x1e')}), ${literal('\x1f')}`,
  );
  const row = `concat(${texts.join(', ')})`;
  return `toString(sum(reinterpretAsUInt128(substring(SHA256(${row}), 1, 16))))`;
}

function textOf({ name, type, nullable }: Column): string {
  const value = identifier(name);
  switch (type) {
    case 'uuid':
      return `lower(${value})`;
    case 'text':
      return `replaceAll(${value}, '\\0', '')`;
    case 'json':
      return jsonText(value, nullable);
    case 'timestamp':
      return `concat(replaceOne(toString(${value}, 'UTC'), ' ', 'T'), 'Z')`;
    case 'date':
    case 'decimal':
    case 'integer':
    case 'boolean':
      return `toString(${value})`;
    case 'float':
      // Adding zero removes the sign of a zero.
      return (
        `if(isFinite(${value}), toString(reinterpretAsUInt64(toFloat64(assumeNotNull(${value})) ` +
        '+ 0)), NULL)'
      );
  }
}

/** Difference in a sum of tokens for each zero that was counted with its sign. */
const signed_zero = crc32('0') - crc32('-0');

/**
 * The store prints the JSON again, so that numbers and escapes have one notation, and cuts it into
 * names and values. A condition makes the store extract its rows and put them back, which takes
 * half as long as the sum itself. So for a column that is rarely empty, it computes all rows,
 * whatever the conditions say. Negative zeros are corrected after the sum, because a condition on
 * each token copies them all.
 */
function jsonText(value: string, nullable: boolean): string {
  const text = `assumeNotNull(${value})`;
  const raw = `JSONExtractRaw(${text})`;
  const printed = `replaceAll(${raw}, '\\\\u0000', '')`;
  const cut =
    `splitByChar('"', translate(${printed}, ${literal(json_separators)}, ` +
    `${literal('"'.repeat(json_separators.length))}))`;
  const sum =
    `toString(arraySum(arrayMap(token -> CRC32(token), ${cut})) ` +
    `+ countEqual(${cut}, '-0') * (${signed_zero}))`;
  const careful =
    `multiIf(${value} IS NULL, NULL, ${raw} = '', ${literal(unreadable_json)}, ` +
    `trimBoth(${text}) = 'null', NULL, ${sum})`;
  return nullable ? careful : `if(${raw} IN ('', 'null'), ${careful}, ${sum})`;
}
