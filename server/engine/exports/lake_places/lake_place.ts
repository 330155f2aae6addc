import type { WriteFile } from '../../model/lake_catalog/tables.ts';

/** The rights of a client on the files of a table. */
export type Rights = 'read' | 'write';

/** Credentials for the files below a location, under the names that Iceberg's file readers use. */
export type Grant = { prefix: string; config: Record<string, string> };

/** A client's request to a bucket that needs a signature. */
export type Signable = {
  method: string;
  uri: string;
  region: string;
  headers: Record<string, string[]>;
  /** Only for a request that deletes several objects, which it names. */
  body?: string;
};

/** A place for the files of tables, and the access to it. */
export type LakePlace = {
  /** The URI below which new tables lie, without a trailing slash. */
  root: string;
  /** Settings that every client needs to find the files; no secrets. */
  config: Record<string, string>;
  writeFile: WriteFile;
  /** Creates the folders of a table for a client that will write it; does nothing for a bucket. */
  prepare(location: string): Promise<void>;
  /** Returns the content of a file; undefined if it does not exist. */
  readFile(uri: string): Promise<Buffer | undefined>;
  /** Removes every file below the location. */
  removeAll(location: string): Promise<void>;
  /**
   * Returns credentials that only reach the files below the location and expire within an hour.
   * Undefined if the store issues none: then requests are signed, or clients have their own
   * credentials.
   */
  grant(location: string, rights: Rights): Promise<Grant | undefined>;
  /** Returns the headers that authorize one request; absent if requests are not signed. */
  sign?: (location: string, rights: Rights, asked: Signable) => Record<string, string[]>;
};
