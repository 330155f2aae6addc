/**
 * The answer of a path that none of its routes gives; `url` is the path as a route would declare
 * it. Pages of all sites may read the answer if `is_open`.
 */
export type Completed =
  | { url: string; allowed: string[]; is_open: boolean }
  | { url: string; location: string };
