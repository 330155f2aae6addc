import type { Readable } from 'node:stream';
import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';

/** A destination's config, of any type. */
export type Config = Record<string, unknown>;

/** Small files of a place. Names have `/` between folders. Errors are explained. */
export type SmallFiles = {
  /** Writes a file whole, over an older one, and returns once it is safe. */
  put(name: string, content: Buffer | string): Promise<void>;
  /**
   * Writes a file whole unless there is one of this name: then it gives false. After a lost answer
   * the file that is there may be this one.
   */
  putNew(name: string, content: Buffer | string): Promise<boolean>;
  /** The content, or undefined if there is no such file. */
  read(name: string): Promise<Readable | undefined>;
  /** Names of the files directly in a folder: those behind `after`, and maybe others. */
  list(folder: string, after?: string): AsyncIterable<string>;
  /** Removes a file; one that is gone already is no error. */
  remove(name: string): Promise<void>;
  /** Names of all visible files below a folder. */
  listAll(folder: string): AsyncIterable<string>;
  /** The instant of the last write in milliseconds, or undefined if there is no such file. */
  writtenAt(name: string): Promise<number | undefined>;
};

/**
 * A kind of place for the files of tables: a destination of files, which stages, shows, compares
 * and tests them.
 */
export type LakePlace = {
  definition: DestinationDefinition;
  openFiles(config: Config, deps: DestinationDeps): Promise<SmallFiles>;
  /** The folder that the tables of a project lie in, where projects share the place. */
  folder?(team_id: number): string;
  /** The URI of the place, with a slash at its end. Readers compare paths as texts. */
  root(config: Config, deps: Pick<DestinationDeps, 'export_dir'>): string;
};
