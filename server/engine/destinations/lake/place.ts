import type { Readable } from 'node:stream';
import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';

/** A destination's config, of any type. */
export type Config = Record<string, unknown>;

/** Small files of a place. Names have `/` between folders. Errors tell the user what to do. */
export type SmallFiles = {
  /** Writes a file completely, over an older one, and returns once it is safe. */
  put(name: string, content: Buffer | string): Promise<void>;
  /**
   * Writes a file completely unless the name exists: then it returns false. After a lost answer,
   * the existing file may be this one.
   */
  putNew(name: string, content: Buffer | string): Promise<boolean>;
  /** Returns the content, or undefined if the file does not exist. */
  read(name: string): Promise<Readable | undefined>;
  /** Lists the files directly in a folder by name: those after `after`, and possibly others. */
  list(folder: string, after?: string): AsyncIterable<string>;
  /** Removes a file. A missing file is no error. */
  remove(name: string): Promise<void>;
  /** Lists all visible files below a folder by name. */
  listAll(folder: string): AsyncIterable<string>;
  /**
   * Returns the instant of the last write in milliseconds, or undefined if the file does not exist.
   */
  writtenAt(name: string): Promise<number | undefined>;
};

/**
 * A kind of place for the files of tables: a destination of files, which stages, shows, compares
 * and tests them.
 */
export type LakePlace = {
  definition: DestinationDefinition;
  openFiles(config: Config, deps: DestinationDeps): Promise<SmallFiles>;
  /** Returns the folder of a project's tables, if projects share the place. */
  folder?(team_id: number): string;
  /** Returns the URI of the place, with a trailing slash. Readers compare paths as texts. */
  root(config: Config, deps: Pick<DestinationDeps, 'export_dir'>): string;
};
