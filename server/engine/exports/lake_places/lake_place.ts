import type { WriteFile } from '../../model/lake_catalog/tables.ts';

/** The rights of a client on the files of a table. */
export type Rights = 'read' | 'write';

/** Keys for the files below a location, in the names of Iceberg's file readers. */
export type Grant = { prefix: string; config: Record<string, string> };

/** A request to a bucket that a client wants signed. */
export type Signable = {
  method: string;
  uri: string;
  region: string;
  headers: Record<string, string[]>;
  /** Only of a request that deletes several objects, which it names. */
  body?: string;
};

/** A place for the files of tables, and who may reach them. */
export type LakePlace = {
  /** The URI below which new tables lie, without a slash at its end. */
  root: string;
  /** Settings that every client needs to find the files; no secret. */
  config: Record<string, string>;
  writeFile: WriteFile;
  /** Creates the folders of a table that a client is about to write; a bucket needs none. */
  prepare(location: string): Promise<void>;
  /** The content of a file; undefined where there is none. */
  readFile(uri: string): Promise<Buffer | undefined>;
  /** Removes every file below the location. */
  removeAll(location: string): Promise<void>;
  /**
   * Keys that reach the files below the location alone and end within an hour; undefined where
   * nobody gives such: then requests are signed, or clients have keys of their own.
   */
  grant(location: string, rights: Rights): Promise<Grant | undefined>;
  /** The headers that let one request through; undefined where requests are not signed. */
  sign?: (location: string, rights: Rights, asked: Signable) => Record<string, string[]>;
};
