import { NativeSelect } from '@mantine/core';
import { useContext } from 'react';
import type { ReactNode } from 'react';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import type { Config } from '../../destinations/config.ts';
import { FilterFields, filter_keys } from '../../destinations/config_fields.tsx';
import { useFault } from '../../form/context.ts';
import { MomentInput } from '../../form/moment_input.tsx';
import { QueryField } from '../../queries/query_field.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { ChoiceOf, TextOf } from './plain_fields.tsx';
import { DestinationFields } from './destination_fields.tsx';
import { intervals, model_choices, storedConfig } from './draft.ts';
import type { Base, Draft } from './draft.ts';
import { WriteModeFields } from './write_mode_fields.tsx';

type Given = {
  project_id: string;
  draft: Draft;
  /** The secrets that were typed before and not kept. */
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

/** All fields of an export, in the order in which people think of them. */
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
        <WhenFields {...given} />
      </Group>
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

function ContentFields({ project_id, draft, change }: Given) {
  const { model, is_query, custom_query } = draft;
  return (
    <>
      <ChoiceOf
        name="model"
        label="Model"
        value={model}
        data={model_choices}
        set={(value) =>
          change({ model: model_choices.find((one) => one.value === value)?.value ?? 'events' })
        }
      />
      <NativeSelect
        label="Columns"
        value={is_query ? 'query' : 'all'}
        onChange={({ currentTarget }) => change({ is_query: currentTarget.value === 'query' })}
        data={[
          { value: 'all', label: 'All columns of the model' },
          { value: 'query', label: 'Columns of a query' },
        ]}
      />
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

function WhenFields({ draft, change }: Given) {
  const zone = useContext(ZoneContext);
  return (
    <>
      <ChoiceOf
        name="interval"
        label="Interval"
        value={draft.interval}
        data={Object.entries(intervals).map(([value, label]) => ({ value, label }))}
        set={(interval) => change({ interval: interval as Draft['interval'] })}
      />
      <p className="field_hint">Times are in the zone {zone}.</p>
      <At
        name="start_at"
        label="Start"
        hint="If empty, runs start now. A backfill delivers what is older."
        value={draft.start_at}
        set={(start_at) => change({ start_at })}
      />
      <At
        name="end_at"
        label="End"
        hint="If empty, runs never stop."
        value={draft.end_at}
        set={(end_at) => change({ end_at })}
      />
      <TextOf
        name="freshness_seconds"
        label="Late after (seconds)"
        hint={
          'The export is late when its newest delivered interval is older than this. If empty: ' +
          'two intervals, the settle time, and ten minutes.'
        }
        value={draft.freshness_seconds}
        set={(freshness_seconds) => change({ freshness_seconds })}
      />
    </>
  );
}

function At({
  hint,
  name,
  ...given
}: {
  name: string;
  label: string;
  hint: string;
  value: string;
  set: (value: string) => void;
}) {
  const error = useFault(name);
  return <MomentInput {...given} name={name} description={hint} error={error} />;
}
