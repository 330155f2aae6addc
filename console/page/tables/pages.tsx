import { Button, Pagination } from '@mantine/core';
import { page_size } from '../../http/page_number.ts';

/**
 * Links to the other pages of a list; nothing if there is only one page. After the last page, where
 * an old link or a deletion leads, it says so.
 */
export function Pages({
  count,
  page,
  size = page_size,
  go,
}: {
  count: number;
  page: number;
  /** Number of rows on a page. */
  size?: number | undefined;
  go: (page: number) => void;
}) {
  const last = Math.ceil(count / size);
  if (page > Math.max(last, 1))
    return (
      <p role="status">
        Page {page} is empty now.{' '}
        <Button size="compact-sm" onClick={() => go(Math.max(last, 1))}>
          Go to the last page
        </Button>
      </p>
    );
  if (last <= 1) return undefined;
  return (
    <Pagination
      mt="md"
      size="sm"
      total={last}
      value={page}
      onChange={go}
      getControlProps={(control) => ({ 'aria-label': `${control} page` })}
    />
  );
}
