import { NativeSelect } from '@mantine/core';
import { SearchField } from '../batch_exports/list/filters.tsx';
import type { CatalogueSearch } from './catalogue.ts';
import '../batch_exports/list/list.css';
import './catalogue.css';

/** The search and the order of a list, in the address. */
export function Narrowing({
  search: { search = '', ordering = '' },
  orders,
  change,
}: {
  search: CatalogueSearch;
  orders: { value: string; label: string }[];
  change: (changes: CatalogueSearch) => void;
}) {
  return (
    <div className="export_filters catalogue_filters" role="search">
      <SearchField value={search} set={(text) => change({ search: text })} />
      <NativeSelect
        aria-label="Order"
        value={ordering}
        onChange={({ currentTarget: { value } }) => change({ ordering: value })}
        data={orders}
      />
    </div>
  );
}
