import { messageText } from '../../../test/factories/events/generated_json.ts';
import type { Draw } from '../../../test/factories/events/generated_json.ts';
import type { Row } from './peer.ts';

/** Columns of a query with every type that an export can have. */
export const columns =
  'uuid, event, distinct_id, properties, timestamp, properties.note AS note, ' +
  'toInt(properties.amount) AS amount, toFloat(properties.ratio) AS ratio, ' +
  'toDecimal(properties.price) AS price, toDate(timestamp) AS day, ' +
  "event = 'generated' AS is_first";

/** The person who is erased at the end. */
export const erased_id = "it's";
const names = ['plain', 'ä "quoted" \\ text', '', '😀\n\t', 'NULL', erased_id];
const amounts = [
  '0',
  '-1',
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  null,
];
const ratios = [0.1, null, -1.5, 1e300, 5e-324, 123456.789];
const prices = [
  '0.000000001',
  '-12345678901234567890123456789.987654321',
  null,
  '1',
  '-0.5',
  '19.99',
];

/** Returns an event in its stored form, and in the form that a reader must find. */
export function rowOf(draw: Draw, { hour, n, event }: { hour: number; n: number; event: string }) {
  const uuid = crypto.randomUUID();
  const distinct_id = names[n % 6]!;
  const [amount, ratio, price] = [amounts[n % 6]!, ratios[n % 6]!, prices[n % 6]!];
  const note = n % 3 === 0 ? null : messageText(draw).slice(0, 2_000);
  const properties = JSON.stringify({ amount, ratio, price, note });
  const micros = String((n * 7_919) % 1_000_000).padStart(6, '0');
  const [day, time] = [
    '2026-01-01',
    `${String(hour - 1).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}:30`,
  ];
  const at = `${day} ${time}.${micros}`;
  const timestamp = String(BigInt(Date.parse(`${day}T${time}Z`)) * 1_000n + BigInt(micros));
  const stored = {
    uuid,
    event,
    distinct_id,
    person_id: crypto.randomUUID(),
    properties,
    person_properties: '{}',
    elements_chain: '',
    timestamp: at,
    created_at: at,
    inserted_at: at,
  };
  const is_first = event === 'generated';
  const row: Row = {
    uuid,
    event,
    distinct_id,
    properties,
    timestamp,
    note,
    amount,
    ratio,
    price: price === null ? null : withNineDigits(price),
    day,
    is_first,
    ...(is_first ? {} : { added: amount }),
  };
  return { stored, row };
}

function withNineDigits(price: string): string {
  const [whole = '', part = ''] = price.split('.');
  return `${whole}.${part.padEnd(9, '0')}`;
}
