import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ListSearch } from './overview.ts';
import { removeView, saveView, useSavedViews } from './saved_views.ts';

const filters = ['search', 'health', 'model', 'destination_type', 'tag', 'ordering'] as const;

const filtersOf = (search: ListSearch): ListSearch =>
  Object.fromEntries(filters.flatMap((name) => (search[name] ? [[name, search[name]]] : [])));
const same = (one: ListSearch, other: ListSearch) =>
  filters.every((name) => (one[name] ?? '') === (other[name] ?? ''));

/** The person's saved views of this list, and the field that saves the current one. */
export function Views({
  project_id,
  search,
  show,
}: {
  project_id: string;
  search: ListSearch;
  show: (view: ListSearch) => void;
}) {
  const views = useSavedViews(project_id);
  const [name, setName] = useState<string>();
  const shown = filtersOf(search);
  const current = views.find((view) => same(view.search, shown));
  const isPlain = Object.keys(shown).length === 0;
  if (isPlain && views.length === 0) return undefined;
  return (
    <div className="chips" role="group" aria-label="Saved views">
      {views.map((view) => (
        <button
          key={view.name}
          type="button"
          className="chip"
          aria-pressed={view === current}
          onClick={() => show(view === current ? {} : view.search)}
        >
          <bdi>{view.name}</bdi>
        </button>
      ))}
      {current !== undefined && (
        <Button size="compact-sm" onClick={() => removeView(project_id, current.name)}>
          Remove view
        </Button>
      )}
      {current === undefined && !isPlain && name === undefined && (
        <Button size="compact-sm" onClick={() => setName('')}>
          Save view
        </Button>
      )}
      {name !== undefined && (
        <NameForm
          name={name}
          type={setName}
          save={() => {
            if (name.trim() !== '') saveView(project_id, { name: name.trim(), search: shown });
            setName(undefined);
          }}
        />
      )}
    </div>
  );
}

function NameForm({
  name,
  type,
  save,
}: {
  name: string;
  type: (name: string) => void;
  save: () => void;
}) {
  return (
    <form
      className="view_form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextInput
        size="xs"
        aria-label="Name of the view"
        placeholder="Name of the view"
        maxLength={60}
        value={name}
        onChange={({ currentTarget }) => type(currentTarget.value)}
      />
      <Button size="compact-sm" type="submit" variant="filled">
        Save view
      </Button>
    </form>
  );
}
