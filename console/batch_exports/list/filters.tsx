import { NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { destinationTypes } from '../../destinations/destinations.ts';
import { model_choices } from '../form/draft.ts';
import type { ListSearch } from './overview.ts';

/** After so many milliseconds without a key the search is asked for. */
const search_after_ms = 300;

/** Filters and order of the list, in the address. */
export function Filters({
  search,
  change,
}: {
  search: ListSearch;
  change: (changes: ListSearch) => void;
}) {
  const types = useQuery(destinationTypes);
  const choice = (name: 'model' | 'destination_type' | 'ordering') => ({
    value: search[name] ?? '',
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
      change({ [name]: value }),
  });
  return (
    <div className="export_filters" role="search">
      <SearchField value={search.search ?? ''} set={(text) => change({ search: text })} />
      <NativeSelect
        aria-label="Model"
        {...choice('model')}
        data={[{ value: '', label: 'Any model' }, ...model_choices]}
      />
      <NativeSelect
        aria-label="Destination"
        {...choice('destination_type')}
        data={[
          { value: '', label: 'Any destination' },
          ...(types.data?.results ?? []).map(({ type, label }) => ({ value: type, label })),
        ]}
      />
      <NativeSelect
        aria-label="Order"
        {...choice('ordering')}
        data={[
          { value: '', label: 'Worst first' },
          { value: '-created_at', label: 'Newest first' },
          { value: 'created_at', label: 'Oldest first' },
          { value: 'name', label: 'Name' },
          { value: '-name', label: 'Name, backwards' },
        ]}
      />
    </div>
  );
}

/** A search by name, asked for after a short rest of the keys. */
export function SearchField({ value, set }: { value: string; set: (text: string) => void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => set(typed), search_after_ms);
    return () => clearTimeout(timer);
  }, [typed, value, set]);
  return (
    <TextInput
      type="search"
      aria-label="Search by name"
      placeholder="Search by name"
      value={typed}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
