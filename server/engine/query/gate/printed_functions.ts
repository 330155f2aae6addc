import { functionTopics } from '../functions/index.ts';

// Functions that the printer adds: operators, conversions, property access, selection and the order
// of groups.
const printed = `
  and or not equals notEquals less lessOrEquals greater greaterOrEquals in notIn like notLike
  ilike notILike isNull isNotNull multiIf if coalesce ifNull assumeNotNull toNullable nullIf
  materialize CAST _CAST accurateCast toBool toString toInt64 toInt64OrNull toUInt64
  toUInt64OrNull toFloat64 toFloat64OrNull toDecimal128 toDecimal128OrNull toUUID toUUIDOrNull
  toDate32 toDateTime64
  parseDateTime64BestEffort parseDateTime64BestEffortOrNull toIntervalMicrosecond
  toIntervalMillisecond toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay
  toIntervalWeek toIntervalMonth toIntervalQuarter toIntervalYear array tuple map lambda
  arrayElement tupleElement arrayMap arraySort toJSONString JSONExtract isValidJSON
  replaceRegexpAll replaceAll concat startsWith substring fromUnixTimestamp64Milli toTimeZone
`;

const names = new Set([
  ...printed.trim().split(/\s+/),
  ...functionTopics.flatMap(({ functions }) =>
    functions.flatMap((one) => [
      one.name,
      ...Array.from((one.engine ?? '').matchAll(/[A-Za-z_]\w*(?=\(|$)/g), ([name]) => name),
    ]),
  ),
]);

/**
 * Returns true if a printed query may call this function of ClickHouse. Aggregates may have `If`,
 * `Distinct` and `OrNull`.
 */
export function isPrintedFunction(name: string): boolean {
  return names.has(name) || names.has(name.replace(/(Distinct)?(If)?(OrNull)?$/, ''));
}
