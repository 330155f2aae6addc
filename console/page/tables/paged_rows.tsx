import type { ReactNode } from 'react';
import { Pages } from './pages.tsx';
import { Rows } from './rows.tsx';
import { Shown } from '../shown.tsx';

type Listed<One> = { count: number; results: One[] };

/** A table of records, a page at a time; `empty` replaces it if there are none. */
export function PagedRows<One>({
  query,
  page,
  go,
  columns,
  numbers,
  empty,
  children,
}: {
  query: Parameters<typeof Shown<Listed<One>>>[0]['query'];
  page: number;
  go: (page: number) => void;
  columns: string[];
  numbers?: string[];
  empty: ReactNode;
  /** Renders the row of a record. */
  children: (one: One) => ReactNode;
}) {
  return (
    <Shown query={query}>
      {({ count, results }) => (
        <>
          {count === 0 ? (
            empty
          ) : (
            <Rows columns={columns} {...(numbers === undefined ? {} : { numbers })}>
              {results.map(children)}
            </Rows>
          )}
          <Pages count={count} page={page} go={go} />
        </>
      )}
    </Shown>
  );
}
