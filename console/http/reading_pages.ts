import { infiniteQueryOptions } from '@tanstack/react-query';
import type { Answer, Path, Route } from './path.ts';
import { pathOfLink } from './path.ts';
import { reading } from './reading.ts';

/** Number of pages that are read again automatically; a person who has gone further asks for it. */
const polled_pages_max = 5;

/** The routes of lists whose pages follow each other. */
type PagedRoute = {
  [To in Route<'GET'>]: Answer<'GET', To> extends { next: string | null } ? To : never;
}[Route<'GET'>];

/**
 * The options of a query that reads a list whose pages follow each other by `next`, for
 * `useInfiniteQuery`. Each page is read as `reading` reads it, with its ETag.
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
