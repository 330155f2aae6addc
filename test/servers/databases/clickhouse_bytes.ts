import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Session } from 'chdb';
import { literal } from '../../../server/engine/destinations/formats/expression.ts';
import type { FormatSelection } from '../../../server/engine/destinations/formats/expression.ts';
import { encodeStage } from '../../../server/engine/destinations/formats/encode_stage.ts';
import type { Encoding } from '../../../server/engine/model/destination/encoding.ts';
import { selectFor } from '../../../server/engine/destinations/formats/select.ts';
import { literalColumns } from '../../../server/engine/destinations/formats/text_row.ts';
import type { TextRow } from '../../../server/engine/model/models/column.ts';

/** A separate ClickHouse for tests, which returns the bytes of a query unchanged. */
export type ClickHouseBytes = {
  /** Runs statements without a result. */
  run(statement: string): Promise<void>;
  /** Returns the bytes of `SELECT selection FROM from`; throws if the query fails. */
  bytes(selection: FormatSelection, from: string): Promise<Buffer>;
  /** Encodes a row, as `encodeRow` of a destination's deps promises. */
  encodeRow(row: TextRow, encoding: Encoding): Promise<Buffer>;
  close(): void;
};

/**
 * Starts an empty one in a temporary folder; each query has its own session and answers through a
 * named pipe.
 */
export function openClickHouseBytes(): ClickHouseBytes {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bytes-'));
  const data = join(folder, 'data');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', ['-m', '600', pipe]);
  const keeper = new Session(data);
  const clickhouse: ClickHouseBytes = {
    run: async (statement) => void (await keeper.queryAsync(statement)),
    bytes: async (selection, from) => {
      const session = new Session(data);
      const reader = new Socket({
        fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
        readable: true,
        writable: false,
      });
      const settings = Object.entries(selection.settings).map(
        ([name, value]) => `${name} = ${typeof value === 'number' ? value : literal(value)}`,
      );
      const query = `SELECT ${selection.expressions} FROM ${from} INTO OUTFILE '${pipe}' TRUNCATE
        FORMAT ${selection.format} SETTINGS ${settings.join(', ')}`;
      const failure = session.queryAsync(query).then(
        () => undefined,
        (error: Error) => {
          reader.destroy();
          return error;
        },
      );
      const chunks: Buffer[] = [];
      await (async () => {
        for await (const chunk of reader) chunks.push(chunk as Buffer);
      })().catch(() => undefined);
      const error = await failure;
      session.close();
      if (error !== undefined) throw error;
      return Buffer.concat(chunks);
    },
    encodeRow: async (row, encoding) => {
      const written = await clickhouse.bytes(
        selectFor(encoding, literalColumns(row)),
        'system.one',
      );
      return buffer(encodeStage(encoding).pipeline(Readable.from([written])));
    },
    close: () => {
      keeper.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return clickhouse;
}
