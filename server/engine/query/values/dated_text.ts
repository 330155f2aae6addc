// In words: 2024-01-31 and 2024/1/31 and 2024.01.31; 31/01/2024 and 31.1.24; digits alone
// (20240131, seconds or milliseconds since 1970); Wed, 31 Jan 2024; Wed Jan 31 2024; 31-Jan-2024.
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
 * ClickHouse text that passes a text which names a year, and gives an empty one for others:
 * ClickHouse reads `Jan 5` and `10:20` as of the day on which it is asked, so that a retry would
 * give other rows.
 */
export function datedText(sql: string): string {
  return `extract(${sql}, '${dated}')`;
}

/**
 * ClickHouse text of the instant in a text; NULL of NULL, by the seconds that are added.
 * `parseDateTime64BestEffort` alone reads a NULL beside other values as an empty text, and fails.
 */
export function instantIn(sql: string, zone: string): string {
  const text = datedText(`ifNull(${sql}, '1970-01-01')`);
  return `addSeconds(parseDateTime64BestEffort(${text}, 6, ${zone}), 0 * length(${sql}))`;
}
