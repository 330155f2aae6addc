import { NativeSelect, TextInput } from '@mantine/core';
import type { SyntheticEvent } from 'react';
import { readValues } from '../form/values.ts';
import { FilterEnd } from './filter_end.tsx';
import type { Filter } from './activity.ts';
import { scopeWords } from './scope_words.ts';

/** The filters of the activity; days are UTC days. */
export function FilterForm({
  filter,
  words,
  chosen,
}: {
  filter: Filter;
  /** The kinds of objects in the log. */
  words: Record<string, string>;
  chosen: (filter: Filter) => void;
}) {
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = readValues(event.currentTarget) as Record<string, string>;
    const { after = '', before = '', ...rest } = values;
    const instant = (day: string) => (day === '' ? '' : `${day}T00:00:00Z`);
    const wanted = { ...keptOf(filter), ...rest, after: instant(after), before: instant(before) };
    chosen(
      Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== '')) as Filter,
    );
  };
  const scopes = [...new Set([...Object.keys(words), ...[filter.scope ?? []].flat()])];
  return (
    <form className="filters" onSubmit={submit}>
      <NativeSelect
        name="scope"
        label="What was changed"
        data={[
          { value: '', label: 'Anything' },
          ...scopes.map((scope) => ({ value: scope, label: scopeWords(scope) })),
        ]}
        defaultValue={filter.scope ?? ''}
      />
      <TextInput name="activity" label="How" placeholder="deleted" defaultValue={filter.activity} />
      <FilterEnd filter={filter} showAll={() => chosen({})} />
      {[
        ['person', filter.user],
        ['key', filter.key],
        ['thing', filter.item_id],
      ].map(
        ([what, id]) =>
          id !== undefined && (
            <p key={what} className="muted">
              Only one {what}: <code>{id}</code>
            </p>
          ),
      )}
    </form>
  );
}

/** Returns the filters of a link without a field of their own. */
function keptOf({ user, key, item_id }: Filter): Record<string, string> {
  return { user: user ?? '', key: key ?? '', item_id: item_id ?? '' };
}
