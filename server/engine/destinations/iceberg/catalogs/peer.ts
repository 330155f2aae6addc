import type { KnownError } from '../../../model/destination/errors.ts';
import type { Long, Snapshot, TableMetadata } from '../../lake/table_metadata.ts';
import type { AskedTable, Commit } from './catalog.ts';

/** The metadata of a table of another vendor's catalog, with snapshots. */
export type WholeMetadata = TableMetadata & {
  snapshots?: Snapshot[];
  'current-snapshot-id'?: Long | null;
  refs?: Record<string, { 'snapshot-id': Long }>;
  properties?: Record<string, string>;
};

/** A table in another vendor's catalog at one moment. */
export type Loaded = {
  metadata: WholeMetadata;
  /** The catalog's credentials for the files, as properties; mostly none. */
  storage: Record<string, string>;
  /** The place of the metadata file, and the number of the entry, for catalogs that swap them. */
  pointer?: { metadata_location: string; version: string };
};

/**
 * The answer to a commit. `conflict`: another commit came first and nothing was applied. `doubt`:
 * the result is unknown: it may be applied, now or later.
 */
export type Sent = 'applied' | 'conflict' | { doubt: KnownError };

/** A table in another vendor's catalog. Errors tell the user what to do. */
export type Peer = {
  /** Signs in, and reads the catalog's configuration. */
  configure(): Promise<void>;
  hasNamespace(): Promise<boolean>;
  /** Creates missing namespaces, from the outermost one. */
  createNamespace(): Promise<void>;
  load(): Promise<Loaded | undefined>;
  /** Creates the table, and its namespace if that is missing. */
  create(table: AskedTable): Promise<Loaded>;
  /**
   * Sends a commit once. `key` names the attempt. Only throws if the commit was refused or never
   * sent, so that certainly nothing was applied.
   */
  send(commit: Commit, from: Loaded, key: string): Promise<Sent>;
  /** Removes the table from the catalog and leaves its files. */
  drop(): Promise<void>;
};
