import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ComponentProps } from 'react';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { connectionChoices } from '../../connections/connections.ts';
import { ConfigFields } from '../../destinations/config_fields.tsx';
import { PasteField } from '../../destinations/paste_field.tsx';
import { DestinationPicker } from '../../destinations/picker.tsx';
import { useFault } from '../../form/context.ts';
import { useHome } from '../../signed_in/home.ts';
import { rejected_choices } from './draft.ts';
import type { Base, Draft } from './draft.ts';
import { ChoiceOf, TextOf } from './plain_fields.tsx';

type Given = {
  draft: Draft;
  base: Base | undefined;
  types: DestinationType[];
  /** The chosen type, without the keys of a connection. */
  type: DestinationType | undefined;
  change: (changes: Partial<Draft>) => void;
};

/** The fields of an export's target: the destination, its connection, and the place there. */
export function DestinationFields({
  config,
  ...given
}: Given & { config: Omit<ComponentProps<typeof ConfigFields>, 'type'> }) {
  const { types, type, draft, base, change } = given;
  const before = base?.destination.type;
  const choose = (chosen: string, typed: Draft['typed'] = {}) => {
    const kept = type === undefined || chosen === draft.type ? draft.typed : withoutSecrets(given);
    const connection_id = chosen === draft.type ? draft.connection_id : '';
    change({ type: chosen, connection_id, typed: { ...kept, ...typed } });
  };
  return (
    <>
      <DestinationPicker
        name="destination"
        types={types}
        chosen={types.find((one) => one.type === draft.type)}
        // Values typed for another destination stay if the key has the same name, except secrets.
        choose={choose}
        hint={
          before !== undefined && before !== draft.type
            ? `Sluice drops the config for ${before} if you choose another destination.`
            : type?.missing_package
        }
      />
      {type !== undefined && type.connection_keys.length > 0 && <ConnectionField {...given} />}
      {draft.connection_id === '' && <PasteField types={types} type={type} fill={choose} />}
      {type !== undefined && <ConfigFields type={type} {...config} />}
      {(type?.sets_rows_aside === true || draft.rejected_rows === 'set_aside') && (
        <RejectedFields {...given} />
      )}
    </>
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
      error={error}
      value={draft.connection_id}
      onChange={({ currentTarget }) => change({ connection_id: currentTarget.value })}
      data={[
        { value: '', label: 'None: address and credentials entered here' },
        ...offered.map(({ id, name }) => ({ value: id, label: name })),
      ]}
    />
  );
}

function withoutSecrets({ draft: { typed }, type }: Given): Draft['typed'] {
  return Object.fromEntries(
    Object.entries(typed).filter(([key]) => type?.secret_keys.includes(key) !== true),
  );
}

function RejectedFields({ draft, change }: Given) {
  return (
    <>
      <ChoiceOf
        name="rejected_rows"
        label="If the destination refuses a row"
        value={draft.rejected_rows}
        data={Object.entries(rejected_choices).map(([value, label]) => ({ value, label }))}
        set={(value) => change({ rejected_rows: value === 'set_aside' ? value : 'stop' })}
      />
      {draft.rejected_rows === 'set_aside' && (
        <>
          <TextOf
            name="rejected_rows_max"
            label="Maximum refused rows"
            hint="A run with more refused rows fails and delivers nothing."
            value={draft.rejected_rows_max}
            set={(rejected_rows_max) => change({ rejected_rows_max })}
          />
          <TextOf
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
