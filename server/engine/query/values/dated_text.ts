// Accepts 2024-01-31 and 2024/1/31 and 2024.01.31; 31/01/2024 and 31.1.24; digits alone (20240131,
// seconds or milliseconds since 1970); Wed, 31 Jan 2024; Wed Jan 31 2024; 31-Jan-2024.
const day = '[0-9]{1,2}';
const month = '[A-Za-z]{3,9}';
const year = '(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])';
const forms = [
  `${year}[-/.]`,
  `${day}[-/.]${day}[-/.](?:${year}|[0-9]{2}(?:[^0-9]|$))`,
  '[0-9]{8,}',
  `(?:${month},?[ ]+)?(?:${day}[- ]+${month}|${month}[ ]+${day}),?[- ]+${year}`,
];
const dated = `(?s)^[ ]*(?:${forms.join('|')}).*$`;

/**
 * Returns ClickHouse text that keeps a text with a year, and replaces others by an empty one.
 * ClickHouse reads `Jan 5` and `10:20` as of the current day, so that a retry would return other
 * rows.
 */
export function datedText(sql: string): string {
  return `extract(${sql}, '${dated}')`;
}

/**
 * Returns ClickHouse text of the instant in a text; adding the seconds makes it NULL for NULL.
 * `parseDateTime64BestEffort` alone reads a NULL beside other values as an empty text, and fails.
 */
export function instantIn(sql: string, zone: string): string {
  const text = datedText(`ifNull(${sql}, '1970-01-01')`);
  return `addSeconds(parseDateTime64BestEffort(${text}, 6, ${zone}), 0 * length(${sql}))`;
}
