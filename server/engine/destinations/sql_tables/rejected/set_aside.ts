import { Readable } from 'node:stream';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Delivery, Slice } from '../../../model/destination/destination.ts';
import { KnownError } from '../../../model/destination/errors.ts';
import { tooManyRejected } from '../../../model/destination/rejected_rows.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import { fieldText } from '../tab_separated.ts';

/** Bytes of rows that are tried together; at least one row. */
const piece_bytes = 4 * 1024 * 1024;

/** A row that was set aside, as stored in the table of rejected rows. */
export type HeldRejection = { number: number; code: string; reason: string; record: string };

/**
 * The table of rejected rows beside the target, in the open transaction of the session that shows
 * the delivery. The preparation of the target creates it for a delivery that sets rows aside.
 */
export type RejectedTable = {
  /** Runs `work`, whose changes are undone if it throws. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Adds rows of a slice, numbered from `first` on. */
  add(slice: number, first: number, rejected: RejectedRow[]): Promise<void>;
  /** Lists the delivery's rows; empty if no such table exists. */
  list(): Promise<HeldRejection[]>;
  /** Removes the delivery's rows with these numbers. */
  remove(numbers: number[]): Promise<void>;
  /** Translates an error of the other side. */
  explained(error: unknown): unknown;
};

/** Inserts the lines of a piece from one position up to another; throws if one is refused. */
export type InsertPart = (from: number, to: number) => Promise<void>;

/** Sends a piece of a slice to the server, and returns the function that inserts parts of it. */
export type Send = (number: number, lines: Buffer[]) => Promise<InsertPart>;

/** Sends each part when it is inserted. */
export function sendByPart(insert: (slice: Slice, bytes: Readable) => Promise<void>): Send {
  return async (number, lines) => (from, to) =>
    insert({ number, records: to - from }, Readable.from(lines.slice(from, to)));
}

/** The targets of one delivery's rows: the table, or the table of rejected rows. */
export type Parting = { table: RejectedTable; send: Send; delivery: Delivery };

/**
 * Inserts a slice piece by piece, and returns the rows that the server refused for their content.
 * Throws `too_many_rejected` if they exceed the delivery's limit together with `before`.
 */
export async function insertApart(
  parting: Parting,
  slice: Slice,
  bytes: Readable,
  before: number,
): Promise<RejectedRow[]> {
  const rows_max = (parting.delivery.rejects?.rows_max ?? 0) - before;
  const rejected: RejectedRow[] = [];
  for await (const lines of piecesOf(bytes))
    await insertPiece(parting, slice.number, lines, (line, fault) => {
      rejected.push(rejectedRow(line, fault));
      if (rejected.length > rows_max) throw tooManyRejected(before + rows_max, rejected);
    });
  return rejected;
}

/**
 * Inserts the lines of a piece, and passes the refused ones to `refuse`. A piece with such a row is
 * halved until the row is alone, so the others are inserted together.
 */
export async function insertPiece(
  { table, send }: Parting,
  number: number,
  lines: Buffer[],
  refuse: (line: Buffer, fault: KnownError) => void,
): Promise<void> {
  const take = async (part: Buffer[], given?: InsertPart): Promise<void> => {
    let sent = given;
    const fault = await refusalOf(table, async () => {
      // A piece with a row that cannot even be sent is halved too.
      sent ??= await send(number, part);
      await sent(0, part.length);
    });
    if (fault === undefined) return;
    if (part.length === 1) return refuse(part[0]!, fault);
    const half = part.length >>> 1;
    await take(part.slice(0, half), sent);
    await take(part.slice(half), sent && ((from, to) => sent!(half + from, half + to)));
  };
  await take(lines);
}

/** Returns the error by which the server refuses rows for their content; throws others. */
async function refusalOf(
  table: RejectedTable,
  work: () => Promise<void>,
): Promise<KnownError | undefined> {
  try {
    await table.within(work);
    return undefined;
  } catch (error) {
    const known = table.explained(error);
    if (known instanceof KnownError && known.is_of_row) return known;
    throw error;
  }
}

/** Returns the row of a line of tab-separated text, and why it was refused. */
export function rejectedRow(line: Buffer, { code, message }: KnownError): RejectedRow {
  return { values: valuesOf(line), code, reason: message };
}

/** Returns the values of such a line. */
export function valuesOf(line: Buffer): ValueRow {
  return line.toString('utf8').replace(/\n$/, '').split('\t').map(fieldText);
}

/** Yields the lines of such text with their ends, byte by byte unchanged, in batches. */
export async function* piecesOf(bytes: Readable): AsyncGenerator<Buffer[]> {
  let begun: Buffer[] = [];
  let lines: Buffer[] = [];
  let held = 0;
  for await (const given of bytes as AsyncIterable<Buffer>) {
    // A copy: the block of the chunk may be reused when it has passed.
    const chunk = Buffer.from(given);
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...begun, chunk.subarray(from, end + 1)]);
      [begun, from] = [[], end + 1];
      lines.push(line);
      held += line.length;
      if (held < piece_bytes) continue;
      yield lines;
      [lines, held] = [[], 0];
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) throw new Error('The source ended in the middle of a line.');
  if (lines.length > 0) yield lines;
}
