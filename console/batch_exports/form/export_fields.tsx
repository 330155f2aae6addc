import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import type { Config } from '../../destinations/config.ts';
import { FilterFields, filter_keys } from '../../destinations/config_fields.tsx';
import { QueryField } from '../../queries/query_field.tsx';
import { ChoiceOf, TextOf } from './plain_fields.tsx';
import { DestinationFields } from './destination_fields.tsx';
import { isTypable, model_choices, new_columns_choices, storedConfig } from './draft.ts';
import type { Base, Draft } from './draft.ts';
import { WhenFields } from './when_fields.tsx';
import { keysFor } from './write_mode.ts';
import { WriteModeFields } from './write_mode_fields.tsx';

type Given = {
  project_id: string;
  draft: Draft;
  /** Secrets that were typed earlier and not stored. */
  lost: readonly string[];
  base: Base | undefined;
  /** The keys of its config with a stored secret. */
  stored_secrets: readonly string[];
  types: DestinationType[];
  type: DestinationType | undefined;
  /** The columns of the first rows. */
  columns: readonly string[];
  change: (changes: Partial<Draft>) => void;
  set: (key: string, value: string | boolean | null) => void;
};

/** All fields of an export, in the order in which people need them. */
export function ExportFields(given: Given) {
  const { draft, lost, base, stored_secrets, type, set, change } = given;
  const stored = storedConfig(draft, base);
  const secret_keys = stored === undefined ? [] : stored_secrets;
  const config = { typed: draft.typed, lost, stored, secret_keys, set };
  return (
    <>
      <TextOf name="name" label="Name" value={draft.name} set={(name) => change({ name })} />
      <Group title="Where to">
        <DestinationFields {...given} config={config} />
      </Group>
      <Group title="What">
        <ContentFields {...given} />
        {type !== undefined && (draft.model === 'events' || hasFilter(draft, stored)) && (
          <FilterFields type={type} {...config} />
        )}
        {(type?.merges_rows === true || draft.mode !== '') && <WriteModeFields {...given} />}
      </Group>
      <Group title="When">
        <WhenFields draft={draft} change={change} />
      </Group>
      <TextOf
        name="tags"
        label="Tags"
        hint="Words by which people find the export, separated by commas."
        value={draft.tags}
        set={(tags) => change({ tags })}
      />
    </>
  );
}

function hasFilter({ typed }: Draft, stored: Config | undefined): boolean {
  return filter_keys.some((key) => Boolean(typed[key] ?? stored?.[key]));
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

/** Fields for the columns of properties. The first rows beside the form show the effect. */
function PropertyFields({ draft, change }: Pick<Given, 'draft' | 'change'>) {
  const { columns, new_columns, schema_number } = draft;
  return (
    <>
      <ChoiceOf
        name="columns"
        label="Properties"
        hint={
          columns === 'typed'
            ? 'Properties that you freeze in the event catalogue have columns. The others stay ' +
              'in one column of JSON.'
            : undefined
        }
        value={columns}
        data={[
          { value: '', label: 'One column of JSON' },
          { value: 'typed', label: 'Typed columns' },
        ]}
        set={(value) => change({ columns: value === 'typed' ? value : '' })}
      />
      {columns === 'typed' && (
        <ChoiceOf
          name="new_columns"
          label="New properties"
          value={new_columns}
          data={Object.entries(new_columns_choices).map(([value, label]) => ({ value, label }))}
          set={(value) => change({ new_columns: value === 'wait' ? value : 'add' })}
        />
      )}
      {columns === 'typed' && new_columns === 'wait' && (
        <TextOf
          name="schema_number"
          label="Accepted schema"
          hint="The number of the schema whose columns are exported. If empty: the newest one."
          value={schema_number}
          set={(text) => change({ schema_number: text })}
        />
      )}
    </>
  );
}

function ContentFields({ project_id, draft, change }: Given) {
  const { model, is_query, custom_query } = draft;
  const choose = (value: string) => {
    const chosen = model_choices.find((one) => one.value === value)?.value ?? 'events';
    change({ model: chosen, ...keysFor(chosen, draft) });
  };
  return (
    <>
      <ChoiceOf name="model" label="Model" value={model} data={model_choices} set={choose} />
      <NativeSelect
        label="Columns"
        value={is_query ? 'query' : 'all'}
        onChange={({ currentTarget }) => change({ is_query: currentTarget.value === 'query' })}
        data={[
          { value: 'all', label: 'All columns of the model' },
          { value: 'query', label: 'Columns of a query' },
        ]}
      />
      {isTypable(draft) && <PropertyFields draft={draft} change={change} />}
      {is_query && (
        <QueryField
          project_id={project_id}
          model={model}
          value={custom_query}
          change={(text) => change({ custom_query: text })}
        />
      )}
    </>
  );
}
