import type { Long } from './fields.ts';
import type { TableMetadata } from './metadata.ts';

/** A stored snapshot, without its text. */
export type KnownSnapshot = { id: string; timestamp_ms: number };

/** A table while updates are applied to it. Snapshots are told as what changes of them. */
export type Draft = {
  table: TableMetadata;
  now_ms: number;
  /** The snapshots that the updates name, by their ids. */
  known: Map<string, KnownSnapshot>;
  added: Map<string, { snapshot: Record<string, unknown>; timestamp_ms: number }>;
  removed: Set<string>;
  /** Entries for the end of the log, in their order. */
  logged: { id: string; timestamp_ms: number }[];
  /** The ids that `-1` stands for in the updates that follow. */
  last_added: { schema?: number; spec?: number; order?: number };
};

/** A draft of a table that no update has changed yet. */
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

/** The name of a snapshot in the maps of a draft. */
export function keyOf(id: Long): string {
  return String(id);
}
