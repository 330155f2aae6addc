/** A page of an offset list of the API. */
export type Listed<Row> = {
  count: number;
  next: string | null;
  previous: string | null;
  results: Row[];
};

/** A page of a cursor list of the API. */
export type Continued<Row> = { next: string | null; previous: string | null; results: Row[] };
