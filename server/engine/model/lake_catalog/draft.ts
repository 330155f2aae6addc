import type { Long } from './fields.ts';
import type { TableMetadata } from './metadata.ts';

/** A stored snapshot, without its text. */
export type KnownSnapshot = { id: string; timestamp_ms: number };

/** A table during the application of updates. It records only the changes of snapshots. */
export type Draft = {
  table: TableMetadata;
  now_ms: number;
  /** The snapshots that the updates name, by id. */
  known: Map<string, KnownSnapshot>;
  added: Map<string, { snapshot: Record<string, unknown>; timestamp_ms: number }>;
  removed: Set<string>;
  /** Entries to append to the log, in order. */
  logged: { id: string; timestamp_ms: number }[];
  /** The ids that `-1` refers to in later updates. */
  last_added: { schema?: number; spec?: number; order?: number };
};

/** Returns a draft of an unchanged table. */
export function openDraft(
  table: TableMetadata,
  known: readonly KnownSnapshot[],
  now_ms: number,
): Draft {
  return {
    table: structuredClone(table),
    now_ms,
    known: new Map(known.map((one) => [one.id, one])),
    added: new Map(),
    removed: new Set(),
    logged: [],
    last_added: {},
  };
}

/** Returns the key of a snapshot in the maps of a draft. */
export function keyOf(id: Long): string {
  return String(id);
}
