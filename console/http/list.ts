/** One page of an offset list, as every such list of the API answers. */
export type Listed<Row> = {
  count: number;
  next: string | null;
  previous: string | null;
  results: Row[];
};
