import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Page } from './page.tsx';
import { Shown } from './shown.tsx';

/**
 * Renders the frame of a record's pages, like `Shown`, after it was read. If it is refused or
 * missing, shows a page with this title that says so.
 */
export function Around<Body>({
  title,
  ...given
}: {
  title: string;
  query: Pick<UseQueryResult<Body>, 'data' | 'error' | 'refetch' | 'isFetching'>;
  missing: ReactNode;
  children: (body: Body) => ReactNode;
}) {
  const { data, error } = given.query;
  const is_refused = error !== null && (data === undefined || error.status === 404);
  const shown = <Shown {...given} />;
  return is_refused ? <Page title={title}>{shown}</Page> : shown;
}
