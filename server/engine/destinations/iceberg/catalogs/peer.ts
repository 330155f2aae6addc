import type { KnownError } from '../../../model/destination/errors.ts';
import type { Long, Snapshot, TableMetadata } from '../../lake/table_metadata.ts';
import type { AskedTable, Commit } from './catalog.ts';

/** The metadata of a table of another maker's catalog, snapshots too. */
export type WholeMetadata = TableMetadata & {
  snapshots?: Snapshot[];
  'current-snapshot-id'?: Long | null;
  refs?: Record<string, { 'snapshot-id': Long }>;
  properties?: Record<string, string>;
};

/** A table as another maker's catalog has it at one moment. */
export type Loaded = {
  metadata: WholeMetadata;
  /** Properties by which the catalog hands out keys to the files; mostly none. */
  storage: Record<string, string>;
  /** The place of the metadata file, and the number of the entry, for catalogs that swap them. */
  pointer?: { metadata_location: string; version: string };
};

/**
 * The answer to a commit. `conflict`: another commit came first and nothing was applied. `doubt`:
 * no answer that tells, so it may be applied, or may still be.
 */
export type Sent = 'applied' | 'conflict' | { doubt: KnownError };

/** A table in a catalog of another maker. Errors are explained. */
export type Peer = {
  /** Signs in, and reads what the catalog says of itself. */
  configure(): Promise<void>;
  hasNamespace(): Promise<boolean>;
  /** Creates the namespace, with those above it, where it is missing. */
  createNamespace(): Promise<void>;
  load(): Promise<Loaded | undefined>;
  /** Creates the table, and its namespace if that is missing. */
  create(table: AskedTable): Promise<Loaded>;
  /**
   * Sends a commit once. `key` names the attempt. Throws only if the commit was refused or never
   * sent, so that it is certain that nothing was applied.
   */
  send(commit: Commit, from: Loaded, key: string): Promise<Sent>;
  /** Removes the table from the catalog and leaves its files. */
  drop(): Promise<void>;
};
