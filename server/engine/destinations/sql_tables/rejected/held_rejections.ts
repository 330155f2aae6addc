import type { Readable } from 'node:stream';
import { openRowDigest } from '../../contents/digest.ts';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Delivery, Slice } from '../../../model/destination/destination.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import { valuesOfRecord } from '../../../model/destination/rejected_rows.ts';
import { erasedColumn } from '../layout.ts';
import { insertPiece, piecesOf, rejectedRow, valuesOf } from './set_aside.ts';
import type { HeldRejection, Parting } from './set_aside.ts';

/** The rejected rows of an existing delivery, matched with those of the source. */
export type HeldRejections = {
  /**
   * Reads a slice to its end, and returns its rows that are set aside and stay so. Rows to deliver
   * again are inserted first; accepted ones are no longer set aside.
   */
  sift(slice: Slice, bytes: Readable): Promise<RejectedRow[]>;
  /** Removes rows with these keys. */
  erase(keys: string[]): Promise<void>;
};

/** A line of the source, and its rejected row. */
type Found = { line: Buffer; one: HeldRejection };

/** Finds the rejected rows of the delivery; undefined if it has none. */
export async function openHeldRejections(parting: Parting): Promise<HeldRejections | undefined> {
  const { table, delivery } = parting;
  const { columns } = delivery;
  const held = await table.list();
  if (held.length === 0) return undefined;
  const left = byDigest(held, columns);
  const key = columns.findIndex(({ name }) => name === erasedColumn(delivery));
  const deliverAgain = async (number: number, found: Found[]): Promise<RejectedRow[]> => {
    const refused = new Map<Buffer, RejectedRow>();
    const lines = found.map(({ line }) => line);
    await insertPiece(parting, number, lines, (line, fault) =>
      refused.set(line, rejectedRow(line, fault)),
    );
    const taken = found.filter(({ line }) => !refused.has(line));
    await table.remove(taken.map(({ one }) => one.number));
    return [...refused.values()];
  };
  return {
    sift: async (slice, bytes) => {
      const rejected: RejectedRow[] = [];
      for await (const lines of piecesOf(bytes)) {
        const found = lines.flatMap((line): Found[] => {
          const one = left.get(rowDigest(columns, valuesOf(line)))?.shift();
          return one === undefined ? [] : [{ line, one }];
        });
        if (found.length === 0) continue;
        rejected.push(
          ...(delivery.redelivers === true
            ? await deliverAgain(slice.number, found)
            : found.map(({ line, one: { code, reason } }) => ({
                values: valuesOf(line),
                code,
                reason,
              }))),
        );
      }
      return rejected;
    },
    erase: async (keys) => {
      const wanted = new Set(keys);
      const erased = held.filter(({ record }) => {
        const value = valuesOfRecord(columns, record)?.[key];
        return typeof value === 'string' && wanted.has(value);
      });
      await table.remove(erased.map(({ number }) => number));
    },
  };
}

/** Returns a text that only rows with equal values share. */
export function rowDigest(columns: Delivery['columns'], values: ValueRow): string {
  const digest = openRowDigest(columns);
  digest.add(values);
  return digest.value();
}

function byDigest(
  held: HeldRejection[],
  columns: Delivery['columns'],
): Map<string, HeldRejection[]> {
  return Map.groupBy(held, ({ record }) => {
    const values = valuesOfRecord(columns, record);
    return values === undefined ? '' : rowDigest(columns, values);
  });
}
