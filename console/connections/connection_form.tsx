import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Connection } from '../../server/api/batch_exports/connections/schema.ts';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { configToSend, connectionPart, exportPart, keysOf } from '../destinations/config.ts';
import type { Typed } from '../destinations/config.ts';
import { ConfigFields } from '../destinations/config_fields.tsx';
import { PasteField } from '../destinations/paste_field.tsx';
import { DestinationPicker } from '../destinations/picker.tsx';
import { TestSteps } from '../destinations/test_steps.tsx';
import { useFault } from '../form/context.ts';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { SaveAnyway } from '../form/save_anyway.tsx';
import { useConnectionTest } from './connection_test.ts';
import { awsRole, connectionPath, connectionsPath } from './connections.ts';

type Given = {
  organization_id: string;
  types: DestinationType[];
  /** The connection that is changed; undefined for a new one. */
  stored?: Connection;
  done: (saved: Connection) => unknown;
};

/**
 * Creates or changes a connection; a change reaches every export that uses it. It is tested before
 * it is saved, as an export is.
 */
export function ConnectionForm({ organization_id, types, stored, done }: Given) {
  const offered = types.filter(({ connection_keys }) => connection_keys.length > 0);
  const [name, setName] = useState(stored?.name ?? '');
  const [chosen, setChosen] = useState<string>(stored?.type ?? '');
  const [typed, setTyped] = useState<Typed>({});
  const [beside, setBeside] = useState<Typed>({});
  const whole = offered.find((one) => one.type === chosen);
  const type = whole && connectionPart(whole);
  const asked = whole && exportPart(whole, { is_required: true });
  const config = type === undefined ? {} : configToSend(type, typed, stored?.config);
  const testing = useConnectionTest(organization_id, stored?.id, {
    whole,
    connection: config,
    config: asked === undefined ? {} : configToSend(asked, beside, undefined),
  });
  return (
    <Form
      method={stored === undefined ? 'POST' : 'PATCH'}
      path={
        stored === undefined
          ? connectionsPath(organization_id)
          : connectionPath(organization_id, stored.id)
      }
      if_match={stored === undefined ? undefined : etagOf(stored)}
      body={() => (stored === undefined ? { name, type: chosen, config } : { name, config })}
      part={null}
      later={testing.refusal}
      confirm={testing.confirm}
      done={async (saved) => {
        setTyped({});
        await done(saved);
      }}
      button={stored === undefined ? 'Create connection' : 'Save connection'}
      also={testing.can_force ? <SaveAnyway force={testing.force} /> : null}
    >
      <Name value={name} set={setName} />
      {stored === undefined && (
        <DestinationPicker
          name="type"
          types={offered}
          chosen={whole}
          choose={(value) => {
            setChosen(value);
            setTyped({});
          }}
        />
      )}
      <PasteField
        types={
          stored === undefined ? offered.map(connectionPart) : type === undefined ? [] : [type]
        }
        type={type}
        fill={(value, values) => {
          setChosen(value);
          setTyped((before) => ({ ...(value === chosen ? before : {}), ...values }));
        }}
      />
      {type?.connection_keys.includes('aws_role_arn') === true && (
        <TrustPolicy organization_id={organization_id} />
      )}
      {type !== undefined && (
        <ConfigFields
          prefix="config__"
          type={type}
          typed={typed}
          stored={stored?.config}
          secret_keys={stored?.secret_keys ?? []}
          set={setterOf(setTyped)}
        />
      )}
      {asked !== undefined && keysOf(asked).length > 0 && (
        <Beside type={asked} typed={beside} set={setterOf(setBeside)} />
      )}
      {whole !== undefined && testing.test !== undefined && (
        <div role="status">
          <TestSteps test={testing.test} type={whole} is_old={testing.is_old} />
        </div>
      )}
    </Form>
  );
}

const setterOf =
  (set: (change: (before: Typed) => Typed) => void) =>
  (key: string, value: string | boolean | null) =>
    set((before) => ({ ...before, [key]: value }));

/** What an export names beside its connection: the test needs it, and nothing stores it. */
function Beside({
  type,
  typed,
  set,
}: {
  type: DestinationType;
  typed: Typed;
  set: (key: string, value: string | boolean | null) => void;
}) {
  return (
    <div className="together">
      <h3>For the test</h3>
      <p className="muted">Each export names its own. The connection does not store this.</p>
      <ConfigFields
        prefix="test__"
        type={type}
        typed={typed}
        stored={undefined}
        secret_keys={[]}
        set={set}
      />
    </div>
  );
}

function Name({ value, set }: { value: string; set: (name: string) => void }) {
  const error = useFault('name');
  return (
    <TextInput
      name="name"
      label="Name"
      error={error}
      value={value}
      withAsterisk
      autoComplete="off"
      onChange={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}

/** The trust policy that an AWS role needs, so that you need no access key. */
function TrustPolicy({ organization_id }: { organization_id: string }) {
  const { data } = useQuery(awsRole(organization_id));
  if (data === undefined || data.trust_policy === null) return null;
  return (
    <>
      <p className="muted">
        Without an access key, Sluice assumes a role. Its external id is {data.external_id}. Give
        the role this trust policy:
      </p>
      <pre tabIndex={0} role="region" aria-label="Trust policy">
        {data.trust_policy}
      </pre>
    </>
  );
}
