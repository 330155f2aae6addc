import type { CatalogueSearch } from './catalogue.ts';

/** What a list is narrowed to after a change; one of search or order begins on the first page. */
export function narrowedBy<Search extends CatalogueSearch>(
  { page: _page, ...before }: Search,
  { page = 1, ...changes }: CatalogueSearch,
): Omit<Search, 'page'> & CatalogueSearch {
  return { ...before, ...changes, ...(page === 1 ? {} : { page }) };
}
