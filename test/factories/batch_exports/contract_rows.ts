import { literal } from '../../../server/engine/destinations/formats/expression.ts';
import type { Column } from '../../../server/engine/model/models/column.ts';
import { inDepth } from '../../depth.ts';

/** A source row as ClickHouse stores it; `properties` is text that should be JSON. */
export type SourceRow = {
  uuid: string;
  event: string;
  properties: string;
  note: string | null;
  timestamp: string;
  amount: string;
  ratio: number | null;
  is_new: boolean;
};

const column = (name: string, type: Column['type'], nullable = false): Column => ({
  name,
  type,
  nullable,
  expression: name,
});

/** The columns of the contract's rows, one of each type. */
export const contractColumns: Column[] = [
  column('uuid', 'uuid'),
  column('event', 'text'),
  column('properties', 'json'),
  column('note', 'text', true),
  column('timestamp', 'timestamp'),
  column('amount', 'integer'),
  column('ratio', 'float', true),
  column('is_new', 'boolean'),
];

const nasty: [event: string, properties: string][] = [
  ['plain', '{"a":1}'],
  [
    'tab\tnewline\ncarriage\rreturn\r\nend',
    '{"text":"tab\\tnewline\\nquote\\"backslash\\\\ slash/"}',
  ],
  ['back\\slash \\N \\. \\x41 \\101 \\', '{"\\\\N":"\\\\."}'],
  [
    '"quotes" \'single\' `ticks`, comma; {brace}',
    '{"nested":{"list":[1,[2,{"deep":[]}],null,true,false,""],"empty":{}}}',
  ],
  ['nul\0inside', '{"nul":"a\\u0000b","escaped":"\\\\u0000"}'],
  ['emoji 😀 家族 👨‍👩‍👧‍👦 ñ \u2028\u2029\ufeff', '{"😀":"\\ud83d\\ude00 and 😀"}'],
  [
    'lone surrogates',
    '{"high":"\\ud800","low":"x\\udc00y","pair":"\\uD83D\\uDE00",' +
      '"escaped":"\\\\ud800","\\udfff":"key","mixed":"\\ud83d\\ud83d\\ude00"}',
  ],
  [
    '',
    '{"big":123456789012345678901234567890,"beyond":9007199254740993,' +
      '"small":0.1234567890123456789}',
  ],
  ['\u0001\b\f\v\u001f\u007f', '\n{ "pretty" : 1 ,\r\n\t"printed": [ ] }\n'],
  ['not json', 'no json {"\t\n'],
  ['empty json text', ''],
  ['a scalar', '"just text"'],
  ['tiny', '{"tiny": -1.5e-16384}'],
  ['huge', '[1e+131072]'],
  ['long', `[0.${'1'.repeat(17_000)}]`],
  [
    'only like huge',
    '{"id":"9F5D1e99999","commit":"see 07e95121f318dc32","dots":"\n1...........","n":1e00012}',
  ],
  // Longer than a stream reads at once; other tests cover 10 MB.
  ['large', JSON.stringify({ large: 'é"\\'.repeat(inDepth(12_000, 250_000)) })],
];

const instants = [
  '1970-01-01T00:00:00.000000Z',
  '2015-09-12T23:59:59.999999Z',
  '1900-01-01T00:00:00.000001Z',
  '2299-12-31T23:59:59.999999Z',
  '2038-01-19T03:14:08.000000Z',
];
const amounts = ['0', '9007199254740993', '9223372036854775807', '-9223372036854775808', '-1'];
const ratios = [0.1, null, -1.5, 1e300, 5e-324];
const notes = ['', null, '\\N', 'NULL', 'null'];

/**
 * Rows that break writers which escape, quote or round wrongly. Their uuids do not ascend, so that
 * the order of uuids differs from the order of rows.
 */
export const contractRows: SourceRow[] = nasty.map(([event, properties], index) => ({
  uuid: `018f0000-0000-7000-8000-${String((index * 7) % nasty.length).padStart(12, '0')}`,
  event,
  properties,
  note: notes[index % notes.length] ?? null,
  timestamp: instants[index % instants.length] ?? '',
  amount: amounts[index % amounts.length] ?? '',
  ratio: ratios[index % ratios.length] ?? null,
  is_new: index % 2 === 0,
}));

const table_columns =
  'position Int64, uuid UUID, event String, properties String, note Nullable(String), ' +
  "timestamp DateTime64(6, 'UTC'), amount Int64, ratio Nullable(Float64), is_new Bool";

/** Statements that create the table `contract` and fill it with rows; `position` is their order. */
export function contractTable(rows: SourceRow[]): string[] {
  return [
    `CREATE TABLE contract (${table_columns}) ENGINE = MergeTree ORDER BY position`,
    insertRows(rows, 0),
  ];
}

/** A statement that adds rows to the table `contract`, the first at `position`. */
export function insertRows(rows: SourceRow[], position: number): string {
  const text = (value: string) => literal(value).replaceAll('\0', '\\0');
  const values = rows.map(
    (row, index) =>
      `(${position + index}, '${row.uuid}', ${text(row.event)}, ${literal(row.properties)}, ` +
      `${row.note === null ? 'NULL' : literal(row.note)}, ` +
      `toDateTime64('${row.timestamp.slice(0, -1).replace('T', ' ')}', 6, 'UTC'), ` +
      `${row.amount}, ${row.ratio ?? 'NULL'}, ${row.is_new})`,
  );
  return `INSERT INTO contract VALUES ${values.join(', ')}`;
}

/** Length in bytes of the one property of the large row. */
export const large_bytes = 10 * 1024 * 1024;
/** The position of the large row in the table `contract`, after all others. */
export const large_position = 1_000_000;

/** Returns a statement that adds a row whose properties are one text of `large_bytes`. */
export const large_row = `INSERT INTO contract
  SELECT ${large_position}, '018f0000-0000-7000-8000-ffffffffffff', 'large', concat('{"large":"',
  repeat('0123456789abcdef', ${large_bytes / 16}), '"}'), NULL, toDateTime64('2015-09-12 00:00:00',
  6, 'UTC'), 0, NULL, false`;

const lone_surrogate =
  /\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}/g;

/**
 * Returns JSON in which numbers that JavaScript would round are texts, so that they stay different.
 */
export function parseExact(text: string): unknown {
  const exact = (_key: string, value: unknown, context: { source?: string }) =>
    typeof value === 'number' && context.source !== undefined && String(value) !== context.source
      ? `number ${context.source}`
      : value;
  return (JSON.parse as (text: string, reviver: typeof exact) => unknown)(text, exact);
}

/**
 * Returns the row that a reader must find for a source row, every value in a form that all formats
 * share. `has_nul` is false if the store cannot hold NUL.
 */
export function expectedRow(
  row: SourceRow,
  options: { has_nul: boolean },
): Record<string, unknown> {
  const clean = (text: string) => (options.has_nul ? text : text.replaceAll('\0', ''));
  return {
    ...row,
    event: clean(row.event),
    properties: expectedJson(row.properties, options.has_nul),
    ratio: row.ratio,
  };
}

/**
 * PostgreSQL, which has no NUL, also refuses numbers with more than 6,000 digits or an exponent of
 * five.
 */
function hasNumberBeyond(json: string): boolean {
  // A reviver cannot do this: it does not see numbers under a repeated key, and PostgreSQL reads
  // those too.
  const numbers = json
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .matchAll(/([\d.]+)(?:[eE][+-]?0*(\d*))?/g);
  return [...numbers].some(
    ([, mantissa = '', exponent = '']) => mantissa.length > 6_000 || exponent.length > 4,
  );
}

function expectedJson(text: string, hasNul: boolean): unknown {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  if (!hasNul && hasNumberBeyond(text)) return text;
  const escapes = text.replaceAll('\\\\', '\x01').replaceAll(lone_surrogate, '\\ufffd');
  const clean = hasNul ? escapes : escapes.replaceAll('\\u0000', '');
  return parseExact(clean.replaceAll('\x01', '\\\\'));
}
