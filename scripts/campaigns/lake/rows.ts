import type { Draw } from '../../../test/factories/events/generated_json.ts';
import { messageText } from '../../../test/factories/events/generated_json.ts';
import type { Row } from './readers.ts';

/** The person who is erased at the end. */
export const erased_id = "it's";
const distinct_ids = ['plain', 'ä "quoted" \\ text', '', '😀\n\t', 'NULL', erased_id];
const amounts = [
  '0',
  '-1',
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  null,
];
const ratios = [0.1, null, -1.5, 1e300, 5e-324, 123456.789];
/** Floats that JSON cannot express, as readers return them. */
const specials = ['nan', 'inf', '-inf', null, 0.5];
/** Decimals with all their digits, as readers return them. */
const prices = [
  '0.100000000',
  '-12345678901234567890.123456789',
  null,
  '99999999999999999999999999999.999999999',
  '0.000000001',
];
/** Instants before and after 1970, to the microsecond. */
const born = [
  '1969-12-31T23:59:59.999999Z',
  '1900-01-01T00:00:00.000001Z',
  null,
  '1970-01-01T00:00:00.000000Z',
  '2262-04-12T00:00:00.000001Z',
];

/** Returns a row in its stored form, and in the form that a reader must find. */
export function rowOf(draw: Draw, { hour, n, event }: { hour: number; n: number; event: string }) {
  const uuid = crypto.randomUUID();
  const distinct_id = distinct_ids[n % 6]!;
  const [amount, ratio] = [amounts[n % 6]!, ratios[n % 6]!];
  const note = n % 3 === 0 ? null : messageText(draw).slice(0, 2_000);
  const number = String(n % 97);
  const [price, special, born_at] = [prices[n % 5]!, specials[n % 5]!, born[n % 5]!];
  const properties = JSON.stringify({ amount, ratio, note, number, price, special, born: born_at });
  const micros = String((n * 7_919) % 1_000_000).padStart(6, '0');
  const at = `2026-01-01 0${hour - 1}:${String(n % 60).padStart(2, '0')}:30.${micros}`;
  const is_first = event === 'generated';
  const row: Row = {
    uuid,
    event,
    distinct_id,
    properties,
    timestamp: microsOf(at),
    note,
    amount,
    ratio,
    day: at.slice(0, 10),
    price,
    special,
    born_at: born_at === null ? null : microsOf(born_at),
    born_on: born_at === null ? null : born_at.slice(0, 10),
    is_first,
    number,
    ...(is_first ? {} : { added: amount, fixed: 'x' }),
  };
  return { uuid, distinct_id, properties, at, row };
}

/** Returns an instant with six decimal places as microseconds since 1970. */
function microsOf(at: string): string {
  const seconds = Date.parse(`${at.slice(0, 19).replace(' ', 'T')}Z`);
  return String(BigInt(seconds) * 1_000n + BigInt(at.slice(20, 26)));
}

/** Returns the newest row of each number. */
export function latestOf(rows: Row[]): Row[] {
  const latest = new Map<unknown, Row>();
  for (const row of rows) {
    const before = latest.get(row['number']);
    if (
      before === undefined ||
      BigInt(String(row['timestamp'])) > BigInt(String(before['timestamp']))
    )
      latest.set(row['number'], row);
  }
  return [...latest.values()];
}
