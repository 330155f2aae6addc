import { parseExactJson } from '../../../../platform/json/exact_json.ts';
import { readParquet } from '../../formats/parquet/read_parquet.ts';
import { apply, emptyState } from './actions.ts';
import type { Action, Remove, State, TableInfo } from './actions.ts';
import { milliseconds } from './interval.ts';
import { parquetOf } from './parquet_rows.ts';
import type { Shape } from './parquet_rows.ts';

const texts = (...names: string[]): Shape[] => names.map((name) => ({ name, of: 'text' }));
const longs = (...names: string[]): Shape[] => names.map((name) => ({ name, of: 'long' }));
const flags = (...names: string[]): Shape[] => names.map((name) => ({ name, of: 'boolean' }));
const maps = (...names: string[]): Shape[] => names.map((name) => ({ name, of: 'map' }));
const lists = (...names: string[]): Shape[] => names.map((name) => ({ name, of: 'list' }));

/** The columns of a checkpoint, one for each kind of action. */
const shapes: Shape[] = [
  { name: 'txn', of: [...texts('appId'), ...longs('version', 'lastUpdated')] },
  {
    name: 'add',
    of: [
      ...texts('path'),
      ...maps('partitionValues'),
      ...longs('size', 'modificationTime'),
      ...flags('dataChange'),
      ...maps('tags'),
      ...texts('stats'),
    ],
  },
  {
    name: 'remove',
    of: [
      ...texts('path'),
      ...longs('deletionTimestamp'),
      ...flags('dataChange', 'extendedFileMetadata'),
      ...maps('partitionValues'),
      ...longs('size'),
    ],
  },
  {
    name: 'metaData',
    of: [
      ...texts('id', 'name', 'description'),
      { name: 'format', of: [...texts('provider'), ...maps('options')] },
      ...texts('schemaString'),
      ...lists('partitionColumns'),
      ...longs('createdTime'),
      ...maps('configuration'),
    ],
  },
  {
    name: 'protocol',
    of: [
      { name: 'minReaderVersion', of: 'int' },
      { name: 'minWriterVersion', of: 'int' },
      ...lists('readerFeatures', 'writerFeatures'),
    ],
  },
];

/** Removed files are remembered for a week by default; a table may set another time. */
const week_ms = 7 * 24 * 60 * 60 * 1_000;

/**
 * Returns the file of a checkpoint and its number of actions. Omits removed files that the table no
 * longer remembers.
 */
export function checkpointOf(state: State, now: number): { bytes: Buffer; size: number } {
  const { protocol, metaData, txns, adds, removes } = state;
  const since = now - (retention(metaData) ?? week_ms);
  const isRemembered = ({ deletionTimestamp = 0 }: Remove) => deletionTimestamp >= since;
  const rows: Action[] = [
    { protocol: protocol! },
    { metaData: metaData! },
    ...[...txns.values()].map((txn) => ({ txn })),
    ...[...removes.values()]
      .filter(isRemembered)
      .map((remove) => ({ remove: { ...remove, dataChange: false } })),
    ...[...adds.values()].map((add) => ({ add: { ...add, dataChange: false } })),
  ];
  return { bytes: parquetOf(shapes, rows), size: rows.length };
}

function retention(metaData: TableInfo | undefined): number | undefined {
  return milliseconds(metaData?.configuration['delta.deletedFileRetentionDuration']);
}

/** Returns the state of a table at the version of a checkpoint, from the files of its parts. */
export async function readCheckpoint(
  version: number,
  parts: AsyncIterable<Buffer>[],
): Promise<State> {
  const state = emptyState();
  for (const part of parts)
    for await (const row of readParquet(part, shapes)) {
      const action = Object.fromEntries(
        shapes.flatMap(({ name, of }, index) => {
          const text = row[index];
          if (text === null || text === undefined) return [];
          const value = present(parseExactJson(text)) as Record<string, unknown>;
          // A struct of nulls counts as none, because some readers do not distinguish them.
          return value[(of as Shape[])[0]!.name] === undefined ? [] : [[name, value]];
        }),
      );
      apply(state, version, [action]);
    }
  return state;
}

/** Returns an object without null keys, except those of maps. */
function present(value: unknown): unknown {
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).filter(([, inner]) => inner !== null),
  );
}
