/** What a path answers that no route of it does: `url` is the path as a route would declare it. */
export type Completed = { url: string; allowed: string[] } | { url: string; location: string };
