import type { CatalogueSearch } from './catalogue.ts';

/** Returns the search of a list after a change; a new text or order starts on the first page. */
export function narrowedBy<Search extends CatalogueSearch>(
  { page: _page, ...before }: Search,
  { page = 1, ...changes }: CatalogueSearch,
): Omit<Search, 'page'> & CatalogueSearch {
  return { ...before, ...changes, ...(page === 1 ? {} : { page }) };
}
