import { Readable } from 'node:stream';
import { after, before } from 'node:test';
import { openClickHouseBytes } from '../../servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../servers/databases/clickhouse_bytes.ts';
import { contractRows, contractTable } from './contract_rows.ts';
import { encodeStage } from '../../../server/engine/destinations/formats/encode_stage.ts';
import type { Encoding } from '../../../server/engine/model/destination/encoding.ts';

/**
 * Stores the rows of the contract; opened and closed around the tests of the file that imports it.
 */
export let clickhouse: ClickHouseBytes;

/** No compression. */
export const none = { compression: null } as const;

/** The rows of the contract in their order. */
export const from = 'contract ORDER BY position';

/** Encodes these pieces with an encoding. */
export async function encode(encoding: Encoding, pieces: Buffer[]) {
  const stage = encodeStage(encoding);
  const bytes = await Readable.from(stage.pipeline(Readable.from(pieces))).toArray();
  return { content: Buffer.concat(bytes as Buffer[]), ...stage.finish() };
}

/** Splits bytes into pieces of odd sizes, so that every kind of boundary occurs. */
export function pieces(bytes: Buffer): Buffer[] {
  const result: Buffer[] = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 3) % 65_537)
    result.push(bytes.subarray(at, at + Math.max(size, 1)));
  return result;
}

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * Each test file calls it itself, because hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    clickhouse = openClickHouseBytes();
    for (const statement of contractTable(contractRows)) await clickhouse.run(statement);
  });
  after(() => clickhouse.close());
}
