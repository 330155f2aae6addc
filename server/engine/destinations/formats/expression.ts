import type { Column } from '../../model/models/column.ts';
import { markedAs } from './marks.ts';

/** Most digits that PostgreSQL's numbers can have, with an exponent of four. */
const digits_max = 6_000;

/** A SELECT list, ClickHouse's FORMAT and the settings of the query. */
export type FormatSelection = {
  expressions: string;
  format: string;
  settings: Record<string, string | number>;
};

/**
 * Settings that every format needs. Instants are ISO 8601 with Z. Names mean the table's columns
 * even if an output column has the same name. A destination may accept no bytes for an hour instead
 * of 30 seconds. The text of the query has room for a long selection (256 KiB by default).
 */
export const common_settings = {
  date_time_output_format: 'iso',
  prefer_column_name_to_alias: 1,
  http_send_timeout: 3_600,
  max_query_size: 16_000_000,
};

/** A selection that is not read in order (persons, joins) is sorted, on disk if it is large. */
export const sort_settings: Record<string, number> = {
  max_bytes_before_external_sort: 100_000_000,
  max_bytes_ratio_before_external_sort: 0,
};

/** Returns a text as a ClickHouse string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Returns a name as a ClickHouse identifier. */
export function identifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

// Longer than any column's name (64 characters), so that it cannot be one.
const own_name = `__${'value_that_is_written_once_'.repeat(3)}`;

/**
 * Names each column's expression, so that it is written and computed once, however often it is
 * used.
 */
function named(column: Column, index: number): { definition: string; use: string } {
  const use = `${own_name}${index}`;
  return { definition: `(${column.expression}) AS ${use}`, use };
}

/** Returns text in valid UTF-8; invalid bytes become U+FFFD. */
export function textExpression(expression: string): string {
  return `toValidUTF8(toString(${expression}))`;
}

/** Returns the JSON text of a `json` column, which may be that of a list or a map. */
function jsonOf({ expression, nested }: Column): string {
  return nested === undefined ? `toString(${expression})` : `toJSONString(${expression})`;
}

/** Returns a value as a boolean; null stays null. */
export function booleanExpression(expression: string): string {
  return `CAST(${expression}, 'Nullable(Bool)')`;
}

const byte_order_mark = "'\\xEF\\xBB\\xBF'";
const escaped_nul = "'\\\\u0000'";

/**
 * The form of JSON. `for_jsonb`: for PostgreSQL's type. `one_line`: without line breaks. `marked`:
 * with a mark before each changed value.
 */
export type JsonForm = { for_jsonb?: boolean; one_line?: boolean; marked?: boolean };

/**
 * Returns JSON text that every reader accepts. Valid text stays unchanged (one simdjson pass). In
 * other rows, lone surrogates become `\ufffd`; text that still is no JSON becomes a JSON string.
 * `for_jsonb` also removes `\u0000` and makes a string of JSON with numbers beyond PostgreSQL's;
 * `one_line` turns line breaks, which JSON only allows between tokens, into spaces.
 */
export function jsonExpression(column: Column, index: number, form: JsonForm): string {
  const { definition, use } = named({ ...column, expression: jsonOf(column) }, index);
  const forJsonb = form.for_jsonb === true;
  const always = [
    `NOT startsWith(${use}, ${byte_order_mark})`,
    ...(forJsonb ? [`NOT (${isBeyondNumeric(use)})`] : []),
  ];
  const clean = [`isValidJSON(${definition})`, ...always];
  if (forJsonb) clean.push(`position(${use}, ${escaped_nul}) = 0`);
  const fits = clean.join(' AND ');
  // Most JSON of several lines is otherwise valid.
  const whole =
    form.one_line === true
      ? `if(position(${use}, '\\n') = 0 AND position(${use}, '\\r') = 0, ${use}, ${inOneLine(use)})`
      : use;
  const repaired = repair(use, forJsonb);
  const result = form.one_line === true ? inOneLine(repaired) : repaired;
  const repairable = [isJson(repaired), ...always].join(' AND ');
  const marked = form.marked === true;
  const changed = marked
    ? `if(${repaired} = ${use}, ${result}, ${markedAs('altered', result)})`
    : result;
  const text = asJsonString(use, forJsonb);
  return (
    `multiIf(${use} IS NULL, NULL, ${fits}, ${whole}, ${repairable}, ${changed}, ` +
    `${marked ? markedAs('text', text) : text})`
  );
}

function inOneLine(text: string): string {
  return `translate(${text}, '\\n\\r', '  ')`;
}

/**
 * PostgreSQL's numbers have at most 131,072 digits before the point and 16,383 after it, and a
 * larger one fails the whole COPY. Numbers with more than 6,000 digits, or with an exponent of
 * five, count as such. The strings of a text are removed before its numbers are judged, but only if
 * something looks like such a number.
 */
function isBeyondNumeric(text: string): string {
  const start = '(?:^|[:\\\\[,\\\\s])-?';
  const bare = `replaceRegexpAll(${text}, '"[^"\\\\\\\\]*(?:\\\\\\\\.[^"\\\\\\\\]*)*"', '')`;
  return [
    `(match(${text}, '${start}[0-9.]+[eE][+-]?[0-9]{5}') AND match(${bare}, ` +
      `'[eE][+-]?0*[1-9][0-9]{4}'))`,
    `(length(${text}) > ${digits_max} AND match(${text}, '${start}[0-9.]{1000}') AND ` +
      `arrayExists(x -> length(x) > ${digits_max}, extractAll(${bare}, '[0-9.]+')))`,
  ].join(' OR ');
}

function asJsonString(text: string, withoutNul: boolean): string {
  const valid = `toValidUTF8(assumeNotNull(${text}))`;
  return `toJSONString(${withoutNul ? `replaceAll(${valid}, '\\0', '')` : valid})`;
}

/**
 * `isValidJSON` refuses numbers beyond 64 bits and lone surrogates, which JSON allows, so they are
 * shortened before the check. A number keeps its first digit and an exponent its form, so nothing
 * invalid becomes valid. A run of digits in a string stays longer than the four of a `\u` escape.
 */
function isJson(text: string): string {
  const shorter = `replaceRegexpAll(${text}, '([0-9])[0-9]{17,}', '\\\\1111')`;
  return `isValidJSON(replaceRegexpAll(${shorter}, '([eE][+-]?)[0-9]{3,}', '\\\\10001'))`;
}

/**
 * Control bytes, which JSON text never contains raw, replace escaped backslashes and surrogate
 * pairs meanwhile; each remaining `\ud800` to `\udfff` is alone.
 */
function repair(text: string, withoutNul: boolean): string {
  const aside =
    `replaceRegexpAll(replaceAll(assumeNotNull(${text}), '\\\\\\\\', '\\x01'), ` +
    `'\\\\\\\\u([dD][89abAB][0-9a-fA-F]{2})\\\\\\\\u([dD][c-fC-F][0-9a-fA-F]{2})', ` +
    `'\\x02\\\\1\\x02\\\\2')`;
  const half = `'\\\\\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\\\\\\\ufffd'`;
  const lone = `replaceRegexpAll(${aside}, ${half})`;
  const clean = withoutNul ? `replaceAll(${lone}, ${escaped_nul}, '')` : lone;
  return `replaceAll(replaceAll(${clean}, '\\x02', '\\\\u'), '\\x01', '\\\\\\\\')`;
}
