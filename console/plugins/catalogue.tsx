import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PluginRow } from '../../server/api/plugins/schema.ts';
import { Form } from '../form/form.tsx';
import { Command } from '../page/command.tsx';
import { Shown } from '../page/shown.tsx';
import { catalogue, pluginsPath } from './plugins.ts';
import type { Collection } from './plugins.ts';

type Given = {
  organization_id: string;
  collection: Collection;
  installed: (plugin: PluginRow) => unknown;
};

/** Entries that are shown at a time: more are found by their name. */
const shown_max = 20;

/** Lists the catalogue of the collection, each entry with a button that installs it. */
export function Catalogue({ organization_id, collection, installed }: Given) {
  const query = useQuery(catalogue(organization_id, collection));
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  return (
    <Shown query={query}>
      {({ count, results }) => {
        const found = results.filter(({ name, description }) =>
          words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
        );
        const needs = found.find((one) => one.needs !== null)?.needs ?? null;
        return (
          <>
            {count === 0 && <p className="muted">The catalogue of this server has nothing here.</p>}
            {count > shown_max && (
              <TextInput
                label={`Search ${count} entries`}
                value={search}
                onChange={({ currentTarget }) => setSearch(currentTarget.value)}
                autoComplete="off"
                maw={400}
                mb="sm"
              />
            )}
            {needs !== null && (
              <>
                <p>Some of these entries need a package that this server does not have yet.</p>
                <Command text={needs} what="Command that installs the package" />
              </>
            )}
            <ul className="records">
              {found.slice(0, shown_max).map((entry) => (
                <Entry key={entry.name} {...{ organization_id, collection, installed, entry }} />
              ))}
            </ul>
            {count > 0 && found.length === 0 && <p className="muted">No entry has these words.</p>}
            {count > 0 && collection !== 'pipeline_destinations' && (
              <p className="muted">
                The catalogue has no other apps of this kind. Install one from an address, or write
                your own code.
              </p>
            )}
            {found.length > shown_max && (
              <p className="muted">{found.length - shown_max} more: search for a name.</p>
            )}
          </>
        );
      }}
    </Shown>
  );
}

function Entry({
  organization_id,
  collection,
  installed,
  entry: { name, description, url, maintainer, needs, wants_application },
}: Given & {
  entry: {
    name: string;
    description: string;
    url: string;
    maintainer: string;
    needs: string | null;
    wants_application: boolean;
  };
}) {
  return (
    <li>
      <div>
        <p>
          <bdi>{name}</bdi> <span className="muted">{maintainer}</span>
        </p>
        <p>{description}</p>
        {wants_application && (
          <p className="muted">
            After you install it, its page says how to register an OAuth application with the
            vendor.
          </p>
        )}
        <p className="muted">{url}</p>
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
