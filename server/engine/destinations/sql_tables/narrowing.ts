import { counted } from '../../../platform/counted.ts';
import type { Layout } from './layout.ts';

type Column = Layout['columns'][number];

/**
 * The rounding of a server: MySQL rounds 1.5 in a column of whole numbers, PostgreSQL refuses it.
 */
type Rounding = { rounds_to_whole: boolean };

/**
 * Returns one sentence about each column of the user's own table that changes values without an
 * error, with its type and the loss; undefined if all are kept.
 */
export function narrowed(
  table: string,
  pairs: { column: Column; type: string }[],
  rounding: Rounding,
): string | undefined {
  const losses = pairs.flatMap(({ column, type }) => {
    const lost = lossOf(column.type, type.toLowerCase(), rounding);
    return lost === undefined ? [] : [`${column.name} is ${type} and loses ${lost}`];
  });
  if (losses.length === 0) return undefined;
  return (
    `The table ${table} keeps less than the export sends: the column ` +
    `${losses.join('; the column ')}. Widen the columns, or export to another table.`
  );
}

/** Digits after the point of a `decimal`. */
const decimal_places = 9;

function lossOf(wanted: Column['type'], type: string, rounding: Rounding): string | undefined {
  if (wanted === 'timestamp') return lossOfInstant(type);
  if (wanted === 'float') return lossOfFloat(type, rounding);
  if (wanted === 'integer') return lossOfInteger(type);
  if (wanted === 'decimal') return lossOfDecimal(type, rounding);
  if (wanted === 'boolean' || wanted === 'date') return undefined;
  if (type === 'name') return 'what comes after 63 bytes';
  return /^(?:char|character)\(\d+\)/.test(type) && wanted !== 'uuid'
    ? 'blanks at the end'
    : undefined;
}

/**
 * PostgreSQL's names continue with a zone, and no number means six places; in MySQL it means none.
 */
function lossOfInstant(type: string): string | undefined {
  if (type === 'date') return 'the time of day';
  if (/^time(?:\(\d\))?(?: with.*)?$/.test(type)) return 'the day';
  const [, places] =
    /^timestamp\((\d)\) with/.exec(type) ??
    /^(?:datetime|timestamp)(?:\((\d)\))?$/.exec(type) ??
    [];
  const isInstant = /^(?:datetime|timestamp)/.test(type);
  if (!isInstant || type.startsWith('timestamp with')) return undefined;
  const kept = Number(places ?? 0);
  if (kept >= 6) return undefined;
  return kept === 0 ? 'the fraction of the second' : `the places of a second after ${kept}`;
}

function lossOfFloat(type: string, { rounds_to_whole }: Rounding): string | undefined {
  if (isSingle(type)) return 'digits after the seventh';
  const scale = scaleOf(type);
  if (scale !== undefined)
    return scale <= 0 ? 'its decimals' : `decimals after ${counted(scale, 'place')}`;
  return rounds_to_whole && /^(?:tiny|small|medium|big)?int/.test(type)
    ? 'its decimals'
    : undefined;
}

function lossOfDecimal(type: string, rounding: Rounding): string | undefined {
  if (type.startsWith('double')) return 'digits after the fifteenth';
  const scale = scaleOf(type);
  return scale !== undefined && scale >= decimal_places ? undefined : lossOfFloat(type, rounding);
}

function lossOfInteger(type: string): string | undefined {
  if (isSingle(type)) return 'digits after the seventh';
  return type.startsWith('double') ? 'digits after the fifteenth' : undefined;
}

function isSingle(type: string): boolean {
  return type === 'real' || /^float\b/.test(type);
}

/** PostgreSQL's numeric without a scale keeps all digits. */
function scaleOf(type: string): number | undefined {
  const found = /^(?:numeric|decimal)\(\d+(?:,(-?\d+))?\)/.exec(type);
  return found === null ? undefined : Number(found[1] ?? 0);
}
