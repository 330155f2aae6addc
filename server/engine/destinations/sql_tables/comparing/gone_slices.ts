import { canonicalValue } from '../../contents/canonical.ts';
import { openRowDigest } from '../../contents/digest.ts';
import type { RowDigest } from '../../contents/digest.ts';
import type { DeliveredSlices, Delivery } from '../../../model/destination/destination.ts';
import type { Difference } from '../../../model/destination/difference.ts';
import type {
  ContentSource,
  SliceContents,
  ValueRow,
} from '../../../model/destination/content_source.ts';
import { hasInstants } from '../layout.ts';
import { openRowSum } from './row_sum.ts';
import { counted } from '../../../../platform/counted.ts';

/** The slices whose rows the source has lost, compared by number and digest. */
export type GoneSlices = {
  /** False if rows of these slices cannot be told from others. */
  can_tell: boolean;
  /**
   * Yields the rows that belong to none of these slices; the others are counted and summed, once.
   */
  without(rows: AsyncIterable<ValueRow>): AsyncIterable<ValueRow>;
  /** Returns the differences, after all rows have passed. */
  differences(): Difference[];
};

type Area = { event_from: bigint; event_to: bigint; from: bigint; to: bigint; slice: Gone };
type Gone = { delivery_id: string; contents: SliceContents; sum: RowDigest };

const endless = 1n << 62n;

/**
 * Opens the slices of these deliveries, by the event time and the insertion time of their rows.
 * Tells the reader what cannot be compared.
 */
export function openGoneSlices(
  place: { name: string; is_shared: boolean },
  gone: DeliveredSlices[],
  source: ContentSource,
): GoneSlices {
  const [first] = gone;
  const passing: GoneSlices = { can_tell: false, without: (rows) => rows, differences: () => [] };
  if (first === undefined) return passing;
  const { columns } = first.delivery;
  const at = (wanted: string) => columns.findIndex(({ name }) => name === wanted);
  const [event, inserted] = [at('timestamp'), at('inserted_at')];
  const deliveries = counted(gone.length, 'delivery');
  const told = `The source no longer has all rows of ${deliveries} to ${place.name}`;
  if (!hasInstants(first.delivery) || place.is_shared) {
    source.note(`${told}, and their contents could not be compared.`, { is_unproven: true });
    return passing;
  }
  const slices = slicesOf(gone, source, columns);
  const undigested = slices.filter(({ contents }) => contents.digest === undefined).length;
  source.note(
    undigested === 0
      ? `${told}: these were compared by the digests of their receipts.`
      : `${told}. The receipt has no digest of ${undigested} of their ` +
          `${counted(slices.length, 'slice')}: ` +
          'their rows were counted, and their contents could not be compared.',
    { is_unproven: undigested > 0 },
  );
  const find = finderOf(slices, source);
  let isSummed = false;
  return {
    can_tell: true,
    without: async function* (rows) {
      for await (const row of rows) {
        const slice = find(microseconds(row[event]), microseconds(row[inserted]));
        if (slice === undefined) yield row;
        else if (!isSummed) slice.sum.add(row);
      }
      isSummed = true;
    },
    differences: () => slices.flatMap((slice) => differencesOf(place.name, slice)),
  };
}

function slicesOf(
  gone: DeliveredSlices[],
  source: ContentSource,
  columns: Delivery['columns'],
): Gone[] {
  return gone.flatMap(({ delivery: { delivery_id } }) => {
    const { slices, columns: names } = source.contents(delivery_id);
    return slices.map((contents) => {
      const open = contents.is_rows_digest ? openRowSum : openRowDigest;
      return { delivery_id, contents, sum: digestOf(open, columns, names) };
    });
  });
}

/** Returns the digest of a table's rows over the columns of a delivery, in its order. */
function digestOf(
  open: (columns: Delivery['columns']) => RowDigest,
  columns: Delivery['columns'],
  names: string[],
): RowDigest {
  const places = names.map((name) => columns.findIndex((column) => column.name === name));
  if (places.includes(-1)) return open(columns);
  const digest = open(places.map((place) => columns[place]!));
  return { ...digest, add: (row) => digest.add(places.map((place) => row[place] ?? null)) };
}

/**
 * Areas of one export never overlap. The search begins at the last one that starts before the row,
 * and goes back until none can reach it.
 */
function finderOf(
  slices: Gone[],
  source: ContentSource,
): (event: bigint | undefined, inserted: bigint | undefined) => Gone | undefined {
  const areas: Area[] = slices.flatMap((slice) => {
    const { inserted_from, inserted_to } = slice.contents;
    return source.contents(slice.delivery_id).selection.map((side) => ({
      event_from: bound(side.event_from, -endless),
      event_to: bound(side.event_to, endless),
      from: larger(bound(side.inserted_from, -endless), microseconds(inserted_from) ?? -endless),
      to: -larger(-bound(side.inserted_to, endless), -(microseconds(inserted_to) ?? endless)),
      slice,
    }));
  });
  areas.sort((one, other) => (one.from < other.from ? -1 : one.from > other.from ? 1 : 0));
  const reaches: bigint[] = [];
  for (const { to } of areas) reaches.push(larger(to, reaches.at(-1) ?? -endless));
  return (event, inserted) => {
    if (event === undefined || inserted === undefined) return undefined;
    let [low, high] = [0, areas.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (areas[middle]!.from <= inserted) low = middle + 1;
      else high = middle;
    }
    for (let at = low - 1; at >= 0 && reaches[at]! > inserted; at -= 1) {
      const { event_from, event_to, to, slice } = areas[at]!;
      if (inserted < to && event >= event_from && event < event_to) return slice;
    }
    return undefined;
  };
}

function differencesOf(table: string, { delivery_id, contents, sum }: Gone): Difference[] {
  const name = `${table} delivery ${delivery_id} slice ${contents.number + 1}`;
  const found = sum.records();
  if (found !== contents.records)
    return [
      {
        kind: found < contents.records ? 'missing' : 'added',
        name,
        delivery_id,
        detail:
          `The receipt has ${counted(contents.records, 'row')}, the table ${found}. The source ` +
          'no longer has them and cannot tell which differ.',
      },
    ];
  if (contents.digest === undefined || contents.digest === sum.value()) return [];
  return [
    {
      kind: 'changed',
      name,
      delivery_id,
      detail:
        `A value of its ${counted(found, 'row')} was changed: the digest is not that of the ` +
        'receipt. The source no longer has them, so the value is unknown.',
    },
  ];
}

function bound(milliseconds: number | null, missing: bigint): bigint {
  return milliseconds === null ? missing : BigInt(milliseconds) * 1_000n;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

/** Returns microseconds since the epoch, or undefined for an invalid instant. */
function microseconds(text: string | null | undefined): bigint | undefined {
  if (text === null || text === undefined) return undefined;
  const canonical = canonicalValue('timestamp', text) ?? '';
  const seconds = Date.parse(`${canonical.slice(0, 19)}Z`);
  if (Number.isNaN(seconds)) return undefined;
  return BigInt(seconds) * 1_000n + BigInt(canonical.slice(20, 26));
}
