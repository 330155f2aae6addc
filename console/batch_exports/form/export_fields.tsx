import { NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import type { ReactNode } from 'react';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import type { Config } from '../../destinations/config.ts';
import { ConfigFields, FilterFields, filter_keys } from '../../destinations/config_fields.tsx';
import { connectionChoices } from '../../connections/connections.ts';
import { useFault } from '../../form/context.ts';
import { useHome } from '../../signed_in/home.ts';
import { QueryField } from '../../queries/query_field.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { intervals, model_choices, rejected_choices, storedConfig } from './draft.ts';
import type { Base, Draft } from './draft.ts';

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
      <Text name="name" label="Name" value={draft.name} set={(name) => change({ name })} />
      <Group title="Where to">
        <TypeField {...given} />
        {type !== undefined && type.connection_keys.length > 0 && <ConnectionField {...given} />}
        {type !== undefined && <ConfigFields type={type} {...config} />}
        {(type?.sets_rows_aside === true || draft.rejected_rows === 'set_aside') && (
          <RejectedFields {...given} />
        )}
      </Group>
      <Group title="What">
        <ContentFields {...given} />
        {type !== undefined && (draft.model === 'events' || hasFilter(draft, stored)) && (
          <FilterFields type={type} {...config} />
        )}
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

function TypeField({ types, type, draft, base, change }: Given) {
  const error = useFault('destination');
  const before = base?.destination.type;
  return (
    <NativeSelect
      name="destination"
      label="Destination"
      withAsterisk
      error={error !== false && draft.type === '' ? 'Choose a destination.' : error}
      description={
        before !== undefined && before !== draft.type
          ? `Sluice drops the config for ${before} if you choose another destination.`
          : undefined
      }
      value={draft.type}
      // Values typed for another destination stay where the names are equal, except secrets.
      onChange={({ currentTarget: { value } }) =>
        change({
          type: value,
          connection_id: '',
          typed: type === undefined ? {} : withoutSecrets(draft, type),
        })
      }
      data={[
        ...(draft.type === '' ? [{ value: '', label: 'Choose one' }] : []),
        ...types.map(({ type: name, label }) => ({ value: name, label })),
      ]}
    />
  );
}

/** Chooses the address and credentials: a connection of the organization, or fields here. */
function ConnectionField({ draft, change }: Given) {
  const error = useFault('connection_id');
  const { organization_id = '' } = useHome();
  const choices = connectionChoices(organization_id);
  const { data } = useQuery({ ...choices, enabled: organization_id !== '' });
  const offered = (data?.results ?? []).filter(({ type }) => type === draft.type);
  if (offered.length === 0 && draft.connection_id === '') return null;
  return (
    <NativeSelect
      name="connection_id"
      label="Connection"
      description="The connection has the address of the destination and the credentials."
      error={error}
      value={draft.connection_id}
      onChange={({ currentTarget }) => change({ connection_id: currentTarget.value })}
      data={[
        { value: '', label: 'None: entered here' },
        ...offered.map(({ id, name }) => ({ value: id, label: name })),
      ]}
    />
  );
}

function withoutSecrets({ typed }: Draft, { secret_keys }: DestinationType): Draft['typed'] {
  return Object.fromEntries(Object.entries(typed).filter(([key]) => !secret_keys.includes(key)));
}

function RejectedFields({ draft, change }: Given) {
  return (
    <>
      <Choice
        name="rejected_rows"
        label="If the destination refuses a row"
        value={draft.rejected_rows}
        data={Object.entries(rejected_choices).map(([value, label]) => ({ value, label }))}
        set={(value) => change({ rejected_rows: value === 'set_aside' ? value : 'stop' })}
      />
      {draft.rejected_rows === 'set_aside' && (
        <>
          <Text
            name="rejected_rows_max"
            label="Maximum refused rows"
            hint="A run with more refused rows fails and delivers nothing."
            value={draft.rejected_rows_max}
            set={(rejected_rows_max) => change({ rejected_rows_max })}
          />
          <Text
            name="rejected_percent_max"
            label="Maximum refused rows (percent of a run)"
            hint="Ten refused rows are always allowed."
            value={draft.rejected_percent_max}
            set={(rejected_percent_max) => change({ rejected_percent_max })}
          />
        </>
      )}
    </>
  );
}

function ContentFields({ project_id, draft, change }: Given) {
  const { model, is_query, custom_query } = draft;
  return (
    <>
      <Choice
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
      <Choice
        name="interval"
        label="Interval"
        value={draft.interval}
        data={Object.entries(intervals).map(([value, label]) => ({ value, label }))}
        set={(interval) => change({ interval: interval as Draft['interval'] })}
      />
      <Text
        name="start_at"
        label={`Start (${zone})`}
        hint={
          'Scheduled runs cover intervals that end after this time. If empty, they start now. ' +
          'Use a backfill for events from before the export was created.'
        }
        type="datetime-local"
        value={draft.start_at}
        set={(start_at) => change({ start_at })}
      />
      <Text
        name="end_at"
        label={`End (${zone})`}
        hint="Scheduled runs cover intervals that end before this time. If empty, they never stop."
        type="datetime-local"
        value={draft.end_at}
        set={(end_at) => change({ end_at })}
      />
      <Text
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

function Text({
  name,
  label,
  hint,
  type = 'text',
  value,
  set,
}: {
  name: string;
  label: string;
  hint?: string;
  type?: 'text' | 'datetime-local';
  value: string;
  set: (value: string) => void;
}) {
  const error = useFault(name);
  return (
    <TextInput
      name={name}
      label={label}
      description={hint}
      type={type}
      error={error}
      value={value}
      withAsterisk={name === 'name'}
      autoComplete="off"
      onChange={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}

function Choice({
  name,
  label,
  value,
  data,
  set,
}: {
  name: string;
  label: string;
  value: string;
  data: { value: string; label: string }[];
  set: (value: string) => void;
}) {
  const error = useFault(name);
  return (
    <NativeSelect
      name={name}
      label={label}
      error={error}
      value={value}
      data={data}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}
