/** Number of rows on a page of a list. */
export const page_size = 50;

/** The page that an address asks for; the first, and what is no page, is none. */
export function pageNumber(written: string | number | undefined): { page?: number } {
  const wanted = Number(written);
  return Number.isInteger(wanted) && wanted > 1 ? { page: wanted } : {};
}

/** The query of the API for a page; pages count from 1. */
export function pageQuery(page: number): { limit: number; offset: number } {
  return { limit: page_size, offset: (page - 1) * page_size };
}
