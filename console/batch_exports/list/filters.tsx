import { NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { destinationTypes } from '../../destinations/destinations.ts';
import { useRestedText } from '../../form/rested_text.ts';
import { model_choices } from '../form/draft.ts';
import type { ListSearch, OverviewPage } from './overview.ts';

/** Filters and order of the list, stored in the address. */
export function Filters({
  search,
  tags,
  change,
}: {
  search: ListSearch;
  /** The tags of the project, each with its number of exports. */
  tags: OverviewPage['tags'];
  change: (changes: ListSearch) => void;
}) {
  const types = useQuery(destinationTypes);
  const choice = (name: 'model' | 'destination_type' | 'tag' | 'ordering') => ({
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
      {(tags.length > 0 || search.tag !== undefined) && (
        <NativeSelect
          aria-label="Tag"
          {...choice('tag')}
          data={[{ value: '', label: 'Any tag' }, ...tagChoices(tags, search.tag)]}
        />
      )}
      <NativeSelect
        aria-label="Order"
        {...choice('ordering')}
        data={[
          { value: '', label: 'Worst first' },
          { value: '-created_at', label: 'Newest first' },
          { value: 'created_at', label: 'Oldest first' },
          { value: 'name', label: 'Name' },
          { value: '-name', label: 'Name, Z to A' },
        ]}
      />
    </div>
  );
}

function tagChoices(tags: OverviewPage['tags'], chosen: string | undefined) {
  const choices = tags.map(({ tag, count }) => ({ value: tag, label: `${tag} (${count})` }));
  // The last export with the chosen tag may have lost it.
  const isKnown = chosen === undefined || tags.some(({ tag }) => tag === chosen);
  return isKnown ? choices : [...choices, { value: chosen, label: `${chosen} (0)` }];
}

/** A search by name, which starts after a short pause in typing. */
export function SearchField({ value, set }: { value: string; set: (text: string) => void }) {
  const [text, type] = useRestedText(value, set);
  return (
    <TextInput
      type="search"
      aria-label="Search by name"
      placeholder="Search by name"
      value={text}
      onChange={({ currentTarget }) => type(currentTarget.value)}
    />
  );
}
