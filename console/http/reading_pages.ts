import { infiniteQueryOptions } from '@tanstack/react-query';
import { pathOfLink } from './address.ts';
import { reading } from './reading.ts';

/** So many pages are looked at anew by themselves; whoever has gone further asks for it. */
const polled_pages_max = 5;

/**
 * The options of a query that reads a list whose pages follow each other by `next`, for
 * `useInfiniteQuery`. Each page is read as `reading` reads it, with its ETag.
 */
export function readingPages<Body extends { next: string | null }>(
  path: string,
  is_busy: (body: Body) => boolean,
) {
  return infiniteQueryOptions({
    queryKey: [path, 'pages'],
    queryFn: ({ client, pageParam }) =>
      client.fetchQuery({ ...reading<Body>(pageParam), staleTime: 0 }),
    initialPageParam: path,
    getNextPageParam: ({ next }: Body) => (next === null ? undefined : pathOfLink(next)),
    structuralSharing: false,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      if (pages.length > polled_pages_max) return false;
      return pages.some(is_busy) ? 2_000 : 30_000;
    },
  });
}
