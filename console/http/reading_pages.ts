import { infiniteQueryOptions } from '@tanstack/react-query';
import type { Answer, Path, Route } from './path.ts';
import { pathOfLink } from './path.ts';
import { reading } from './reading.ts';

/** Pages that are read again automatically; for further pages, the person asks. */
const polled_pages_max = 5;

/** The routes of cursor lists. */
type PagedRoute = {
  [To in Route<'GET'>]: Answer<'GET', To> extends { next: string | null } ? To : never;
}[Route<'GET'>];

/**
 * Returns the options of a query that reads a list by `next`, for `useInfiniteQuery`. Each page is
 * read like `reading`, with its ETag.
 */
export function readingPages<To extends PagedRoute>(
  path: Path<To>,
  is_busy: (body: Answer<'GET', To>) => boolean,
) {
  return infiniteQueryOptions({
    queryKey: [path, 'pages'],
    queryFn: ({ client, pageParam }) => client.fetchQuery({ ...reading(pageParam), staleTime: 0 }),
    initialPageParam: path,
    getNextPageParam: ({ next }: { next: string | null }) =>
      next === null ? undefined : pathOfLink<To>(next),
    structuralSharing: false,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      if (pages.length > polled_pages_max) return false;
      return pages.some(is_busy) ? 2_000 : 30_000;
    },
  });
}
