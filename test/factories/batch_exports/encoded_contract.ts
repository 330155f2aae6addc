import { Readable } from 'node:stream';
import { after, before } from 'node:test';
import { openClickHouseBytes } from '../../servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../servers/databases/clickhouse_bytes.ts';
import { contractRows, contractTable } from './contract_rows.ts';
import { encodeStage } from '../../../server/engine/destinations/formats/encode_stage.ts';
import type { Encoding } from '../../../server/engine/model/destination/encoding.ts';

/**
 * Holds the rows of the contract; opened and closed around the tests of the file that imports it.
 */
export let clickhouse: ClickHouseBytes;

/** No compression. */
export const none = { compression: null } as const;

/** The rows of the contract in their order. */
export const from = 'contract ORDER BY position';

/** Encodes these pieces by the stage of an encoding. */
export async function encode(encoding: Encoding, pieces: Buffer[]) {
  const stage = encodeStage(encoding);
  const bytes = await Readable.from(stage.pipeline(Readable.from(pieces))).toArray();
  return { content: Buffer.concat(bytes as Buffer[]), ...stage.finish() };
}

/** Bytes in pieces of odd sizes, so that every kind of border is hit. */
export function pieces(bytes: Buffer): Buffer[] {
  const result: Buffer[] = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 3) % 65_537)
    result.push(bytes.subarray(at, at + Math.max(size, 1)));
  return result;
}

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    clickhouse = openClickHouseBytes();
    for (const statement of contractTable(contractRows)) await clickhouse.run(statement);
  });
  after(() => clickhouse.close());
}
