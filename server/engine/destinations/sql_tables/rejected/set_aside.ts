import { Readable } from 'node:stream';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Delivery, Slice } from '../../../model/destination/destination.ts';
import { KnownError } from '../../../model/destination/errors.ts';
import { tooManyRejected } from '../../../model/destination/rejected_rows.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import { fieldText } from '../tab_separated.ts';

/** Bytes of rows that are tried together; at least one row. */
const piece_bytes = 4 * 1024 * 1024;

/** A row that was set aside, as the table of rejected rows has it. */
export type HeldRejection = { number: number; code: string; reason: string; record: string };

/**
 * The table of rejected rows beside the target, in the open transaction of the session that shows
 * the delivery. Whoever prepares the target for a delivery that sets rows aside creates it.
 */
export type RejectedTable = {
  /** Runs `work`, of which nothing stays when it throws. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Adds rows of a slice; they are numbered from `first` on. */
  add(slice: number, first: number, rejected: RejectedRow[]): Promise<void>;
  /** Those of the delivery; none where there is no such table. */
  list(): Promise<HeldRejection[]>;
  /** Removes those of the delivery with these numbers. */
  remove(numbers: number[]): Promise<void>;
  /** Gives an error of the other side in its words. */
  explained(error: unknown): unknown;
};

/** Inserts the lines of a piece from one place up to another; throws if one is refused. */
export type InsertPart = (from: number, to: number) => Promise<void>;

/** Brings a piece of a slice to the server, and gives what inserts parts of it. */
export type Send = (number: number, lines: Buffer[]) => Promise<InsertPart>;

/** Sends each part when it is inserted. */
export function sendByPart(insert: (slice: Slice, bytes: Readable) => Promise<void>): Send {
  return async (number, lines) => (from, to) =>
    insert({ number, records: to - from }, Readable.from(lines.slice(from, to)));
}

/** The targets of one delivery's rows: the table, or the table of rejected rows. */
export type Parting = { table: RejectedTable; send: Send; delivery: Delivery };

/**
 * Inserts a slice piece by piece, and gives the rows that the server refused for what they are.
 * Throws `too_many_rejected` where they are more than the delivery may set aside beside `before`.
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
 * Inserts the lines of a piece, and gives those to `refuse` that the server refuses: a piece with
 * such a row is halved until the row stands alone, so the others go together.
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
      // A piece of which a row cannot even be sent is halved too.
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

/** The error by which the server refuses rows for what they are; others are thrown. */
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

/** The row of a line of tab-separated text, and why it was refused. */
export function rejectedRow(line: Buffer, { code, message }: KnownError): RejectedRow {
  return { values: valuesOf(line), code, reason: message };
}

/** The values of such a line. */
export function valuesOf(line: Buffer): ValueRow {
  return line.toString('utf8').replace(/\n$/, '').split('\t').map(fieldText);
}

/** The lines of such text with their ends, byte by byte as they came, some at a time. */
export async function* piecesOf(bytes: Readable): AsyncGenerator<Buffer[]> {
  let begun: Buffer[] = [];
  let lines: Buffer[] = [];
  let held = 0;
  for await (const given of bytes as AsyncIterable<Buffer>) {
    // A copy: the block that the chunk lies in may be used again when it has passed.
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
