import { drawsOf, messageText, objectText } from './generated_json.ts';
import { inDepth } from '../../depth.ts';
import type { SourceRow } from '../batch_exports/contract_rows.ts';

/** The generated values: by default a few fixed ones; `npm run values` uses many others. */
export const generated = {
  seed: Number(process.env['SLUICE_TEST_VALUES_SEED'] ?? '1'),
  count: Number(process.env['SLUICE_TEST_VALUES_COUNT'] ?? inDepth(60, 300)),
};

/** Redshift's VARCHAR holds 65,535 bytes; the values of this test are shorter. */
const row_bytes_max = 60_000;

/** The position of the generated rows in the table `contract`, after the rows of the contract. */
export const generated_position = 2_000_000;

/**
 * Rows whose one value is a text that looks like a number, then as many with anything that JSON
 * allows.
 */
export function generatedRows({ seed, count }: typeof generated): SourceRow[] {
  const draw = drawsOf(seed);
  const fitting = (create: () => string): string => {
    for (;;) {
      const text = create();
      if (Buffer.byteLength(text) < row_bytes_max) return text;
    }
  };
  return Array.from({ length: 2 * count }, (_none, index) => ({
    uuid: `018f1111-0000-7000-8000-${String(index).padStart(12, '0')}`,
    event: 'generated',
    properties: fitting(() => (index < count ? messageText(draw) : objectText(draw))),
    note: null,
    timestamp: '2024-05-01T00:00:00.000000Z',
    amount: '0',
    ratio: null,
    is_new: false,
  }));
}

/**
 * Returns the JSON of `parseExact` with each number in one notation, for stores that keep the value
 * and not the notation: `1e5`, `100000` and `100000.0` are equal.
 */
export function byValue(value: unknown): unknown {
  if (typeof value === 'number') return numberByValue(String(value));
  if (typeof value === 'string')
    return /^number -?\d/.test(value) ? numberByValue(value.slice(7)) : value;
  if (Array.isArray(value)) return value.map(byValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, byValue(item)]));
}

function numberByValue(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 'number 0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `number ${sign}${significant}e${power}`;
}
