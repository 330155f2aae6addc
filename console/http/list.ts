/** One page of an offset list, as every such list of the API answers. */
export type Listed<Row> = {
  count: number;
  next: string | null;
  previous: string | null;
  results: Row[];
};

/** One page of a list that goes on from a cursor. */
export type Continued<Row> = { next: string | null; previous: string | null; results: Row[] };
