/**
 * What a path answers that no route of it does: `url` is the path as a route would declare it.
 * Pages of all sites may read it where `is_open`.
 */
export type Completed =
  | { url: string; allowed: string[]; is_open: boolean }
  | { url: string; location: string };
