/**
 * The answer for a path without a matching route; `url` is the path in its declared form.
 * `is_open`: pages of all sites may read the answer.
 */
export type Completed =
  | { url: string; allowed: string[]; is_open: boolean }
  | { url: string; location: string };
