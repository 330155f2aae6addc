import { Pagination } from '@mantine/core';
import { page_size } from '../http/page_number.ts';

/** The way to the other pages of a list; nothing where one page has it all. */
export function Pages({
  count,
  page,
  go,
}: {
  count: number;
  page: number;
  go: (page: number) => void;
}) {
  if (count <= page_size) return undefined;
  return (
    <Pagination
      mt="md"
      size="sm"
      total={Math.ceil(count / page_size)}
      value={page}
      onChange={go}
      getControlProps={(control) => ({ 'aria-label': `${control} page` })}
    />
  );
}
