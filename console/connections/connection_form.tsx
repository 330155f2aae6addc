import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DestinationTest } from '../../server/api/batch_exports/drafts/schema.ts';
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
  /** The connection to change; undefined for a new one. */
  stored?: Connection;
  done: (saved: Connection) => unknown;
};

/**
 * Creates or changes a connection; a change affects every export that uses it. It is tested before
 * it is saved, like an export.
 */
export function ConnectionForm({ organization_id, types, stored, done }: Given) {
  const offered = types.filter(({ connection_keys }) => connection_keys.length > 0);
  const is_new = stored === undefined;
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
      method={is_new ? 'POST' : 'PATCH'}
      path={is_new ? connectionsPath(organization_id) : connectionPath(organization_id, stored.id)}
      if_match={is_new ? undefined : etagOf(stored)}
      body={() => (is_new ? { name, type: chosen, config } : { name, config })}
      part={null}
      later={testing.refusal}
      confirm={testing.confirm}
      done={async (saved) => {
        setTyped({});
        await done(saved);
      }}
      button={is_new ? 'Create connection' : 'Save connection'}
      also={testing.can_force ? <SaveAnyway force={testing.force} /> : null}
    >
      <Name value={name} set={setName} />
      <Choice
        types={is_new ? offered : [whole!]}
        is_fixed={!is_new}
        chosen={whole}
        choose={(value, values) => {
          setChosen(value);
          // A connection string fills in some of the fields.
          setTyped((before) => ({ ...(value === chosen ? before : {}), ...values }));
        }}
      />
      {type !== undefined && (
        <Keys
          organization_id={organization_id}
          type={type}
          typed={typed}
          stored={stored}
          set={setterOf(setTyped)}
        />
      )}
      {asked !== undefined && keysOf(asked).length > 0 && (
        <Beside type={asked} typed={beside} set={setterOf(setBeside)} />
      )}
      <Steps type={whole} test={testing.test} is_old={testing.is_old} />
    </Form>
  );
}

const setterOf =
  (set: (change: (before: Typed) => Typed) => void) =>
  (key: string, value: string | boolean | null) =>
    set((before) => ({ ...before, [key]: value }));

/** The steps of the test, after it was run. */
function Steps({
  type,
  test,
  is_old,
}: {
  type: DestinationType | undefined;
  test: DestinationTest | undefined;
  is_old: boolean;
}) {
  return (
    <div role="status">
      {type !== undefined && test !== undefined && (
        <TestSteps test={test} type={type} is_old={is_old} />
      )}
    </div>
  );
}

/** Chooses the destination, unless it is fixed, or accepts a connection string. */
function Choice({
  types,
  is_fixed,
  chosen,
  choose,
}: {
  types: DestinationType[];
  is_fixed: boolean;
  chosen: DestinationType | undefined;
  choose: (type: string, typed: Typed) => void;
}) {
  return (
    <>
      {!is_fixed && (
        <DestinationPicker
          name="type"
          types={types}
          chosen={chosen}
          choose={(type) => choose(type, {})}
        />
      )}
      <PasteField
        types={types.map(connectionPart)}
        type={chosen && connectionPart(chosen)}
        fill={choose}
      />
    </>
  );
}

type OfType = {
  type: DestinationType;
  typed: Typed;
  set: (key: string, value: string | boolean | null) => void;
};

/** The keys of the connection itself. */
function Keys({
  organization_id,
  stored,
  ...given
}: OfType & { organization_id: string; stored: Connection | undefined }) {
  return (
    <>
      {given.type.connection_keys.includes('aws_role_arn') && (
        <TrustPolicy organization_id={organization_id} />
      )}
      <ConfigFields
        {...given}
        prefix="config__"
        stored={stored?.config}
        secret_keys={stored?.secret_keys ?? []}
      />
    </>
  );
}

/** The keys of an export that the test needs in addition; they are not stored. */
function Beside(given: OfType) {
  return (
    <div className="together">
      <h3>For the test</h3>
      <p className="muted">Each export names its own. The connection does not store this.</p>
      <ConfigFields {...given} prefix="test__" stored={undefined} secret_keys={[]} />
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

/** The trust policy for an AWS role, with which you need no access key. */
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
