import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { DestinationMark } from '../destinations/mark.tsx';
import { Form } from '../form/form.tsx';
import { Command } from '../page/command.tsx';
import { Shown } from '../page/shown.tsx';
import { category_names, foundEntries } from './categories.ts';
import type { Entry } from './categories.ts';
import { catalogue, pluginsPath } from './plugins.ts';
import type { Collection } from './plugins.ts';
import './catalogue.css';

type Given = {
  organization_id: string;
  collection: Collection;
  installed: (plugin: PluginRow) => unknown;
};

/** Entries shown at first; longer lists can be searched. */
const shown_first = 24;

/** Lists the catalogue of the collection, each entry with a button that installs it. */
export function Catalogue(given: Given) {
  const query = useQuery(catalogue(given.organization_id, given.collection));
  return <Shown query={query}>{({ results }) => <Entries {...given} entries={results} />}</Shown>;
}

function Entries({ entries, ...given }: Given & { entries: readonly Entry[] }) {
  const [search, setSearch] = useState('');
  const [category, setCategory] = useState('');
  const [is_whole, setWhole] = useState(false);
  const found = foundEntries(entries, search, category);
  const shown = is_whole ? found : found.slice(0, shown_first);
  const needs = found.find((one) => one.needs !== null)?.needs ?? null;
  return (
    <>
      {entries.length > shown_first && (
        <div className="toolbar">
          <TextInput
            aria-label={`Search ${entries.length} entries`}
            placeholder={`Search ${entries.length} entries`}
            value={search}
            onChange={({ currentTarget }) => setSearch(currentTarget.value)}
            autoComplete="off"
            w={300}
          />
          <NativeSelect
            aria-label="Category"
            value={category}
            onChange={({ currentTarget }) => setCategory(currentTarget.value)}
            data={[
              { value: '', label: 'All categories' },
              ...Object.entries(category_names).map(([value, label]) => ({ value, label })),
            ]}
          />
        </div>
      )}
      {needs !== null && (
        <>
          <p>
            Most tools need a package of 100 MB that this server does not have yet. Run this command
            on the server. No restart is needed.
          </p>
          <Command text={needs} what="Command that installs the package" />
        </>
      )}
      <ul className="entries">
        {shown.map((entry) => (
          <EntryTile key={entry.name} {...given} entry={entry} />
        ))}
      </ul>
      {shown.length < found.length && (
        <Button mt="sm" onClick={() => setWhole(true)}>
          Show all {found.length}
        </Button>
      )}
      {found.length === 0 && <p className="muted">{missing(entries.length)}</p>}
      {entries.length > 0 && given.collection !== 'pipeline_destinations' && (
        <p className="muted">
          The catalogue has no other apps of this kind. Install one from an address, or write your
          own code.
        </p>
      )}
    </>
  );
}

function missing(count: number): string {
  return count === 0
    ? 'The catalogue of this server has nothing here.'
    : 'No entry has these words in this category.';
}

function EntryTile({
  organization_id,
  collection,
  installed,
  entry: { name, description, url, category, needs, wants_application },
}: Given & { entry: Entry }) {
  return (
    <li data-category={category}>
      <DestinationMark type={name} />
      <div>
        <p>
          <strong>
            <bdi>{name}</bdi>
          </strong>
        </p>
        <p className="muted">{category === null ? description : category_names[category]}</p>
        {category === null && <p className="muted">{url}</p>}
        {needs !== null && <p className="muted">Needs the package above</p>}
        {wants_application && <p className="muted">Needs an OAuth application of yours</p>}
      </div>
      {needs === null && (
        <Form
          path={pluginsPath(organization_id, collection)}
          body={() => ({ plugin_type: 'repository' as const, name })}
          done={installed}
          button="Install"
          about={name}
          tone="plain"
        />
      )}
    </li>
  );
}
