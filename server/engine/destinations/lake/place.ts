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
  /** The content, or undefined if there is no such file. */
  read(name: string): Promise<Readable | undefined>;
  /** Removes a file; one that is gone already is no error. */
  remove(name: string): Promise<void>;
  /** The names of visible files below a folder. */
  list(folder: string): AsyncIterable<string>;
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
