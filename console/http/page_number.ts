/** Rows on a page of a list. */
export const page_size = 50;

/** Returns the page number of an address; undefined for the first page and invalid numbers. */
export function pageNumber(written: string | number | undefined): { page?: number } {
  const wanted = Number(written);
  return Number.isInteger(wanted) && wanted > 1 ? { page: wanted } : {};
}

/** Returns the API's query for a page; pages count from 1. */
export function pageQuery(page: number): { limit: number; offset: number } {
  return { limit: page_size, offset: (page - 1) * page_size };
}
