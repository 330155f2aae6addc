import type { ReactNode } from 'react';
import { Pages } from './pages.tsx';
import { Rows } from './rows.tsx';
import type { RowsGiven } from './rows.tsx';
import { Shown } from '../shown.tsx';

type Listed<One> = { count: number; results: One[] };

/** A table of records, a page at a time; `empty` replaces it if there are none. */
export function PagedRows<One>({
  query,
  page,
  size,
  go,
  empty,
  ...given
}: RowsGiven<NoInfer<One>> & {
  query: Parameters<typeof Shown<Listed<One>>>[0]['query'];
  page: number;
  size?: number | undefined;
  go: (page: number) => void;
  empty: ReactNode;
}) {
  return (
    <Shown query={query}>
      {({ count, results }) => (
        <>
          {count === 0 ? empty : <Rows rows={results} {...given} />}
          <Pages count={count} page={page} size={size} go={go} />
        </>
      )}
    </Shown>
  );
}
