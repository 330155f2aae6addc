import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import type { IngestionRuleRow } from '../../server/api/ingestion_rules/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { useFault } from '../form/context.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import type { Values } from '../form/values.ts';
import { etagOf } from '../http/reading.ts';
import { rulePath, rulesPath } from './ingestion_rules.ts';
import {
  action_choices,
  constantOf,
  linesOf,
  target_choices,
  typedConstant,
} from './rule_words.ts';

type Action = IngestionRuleRow['action'];
type Given = {
  project_id: string;
  /** The rule to change; undefined for a new one. */
  stored?: IngestionRuleRow;
  done: (saved: IngestionRuleRow) => unknown;
};

/** Creates or changes a rule; its action decides the fields. */
export function RuleForm({ project_id, stored, done }: Given) {
  const [action, setAction] = useState<Action>(stored?.action ?? 'drop_property');
  const is_new = stored === undefined;
  return (
    <Form
      method={is_new ? 'POST' : 'PATCH'}
      path={is_new ? rulesPath(project_id) : rulePath(project_id, stored.id)}
      if_match={is_new ? undefined : etagOf(stored)}
      body={(values: Values) => ruleOf(values, action)}
      done={done}
      clears={is_new}
      button={is_new ? 'Create rule' : 'Save rule'}
    >
      <TextField name="name" label="Name" value={stored?.name ?? ''} />
      <ActionField value={action} set={setAction} />
      <LongField
        name="events"
        label="Events"
        hint="One name a line; a * at the end matches the rest. Empty: all events."
        rows={2}
        defaultValue={stored?.events.join('\n') ?? ''}
      />
      <Fields
        key={action}
        action={action}
        stored={stored?.action === action ? stored : undefined}
      />
      <BoxField name="enabled" label="Enabled" is_on={stored?.enabled ?? true} />
    </Form>
  );
}

function Fields({ action, stored }: { action: Action; stored: IngestionRuleRow | undefined }) {
  if (action === 'drop_event') return null;
  const is_set = action === 'set_property';
  const may_match = action === 'drop_property' || action === 'hash_property';
  const text = (name: 'property' | 'new_name', label: string, hint?: string) => (
    <TextField
      name={name}
      label={label}
      {...(hint === undefined ? {} : { hint })}
      value={stored?.[name] ?? ''}
      inputMode="text"
    />
  );
  return (
    <>
      {text(
        'property',
        'Property',
        may_match ? 'A * at the end matches the rest; context.ip reaches into objects.' : undefined,
      )}
      {action === 'rename_property' && text('new_name', 'New name')}
      {is_set && (
        <TextField
          name="value"
          label="Value"
          hint='12 and true are a number and a boolean; "12" is text.'
          value={typedConstant(stored?.value ?? null)}
          inputMode="text"
        />
      )}
      <ChoiceField
        name="target"
        label="Property of"
        options={is_set ? target_choices.slice(1) : target_choices}
        value={stored?.target ?? (is_set ? 'event' : 'any')}
      />
      {is_set && (
        <BoxField
          name="only_if_missing"
          label="Only if the property is missing"
          is_on={stored?.only_if_missing ?? false}
        />
      )}
    </>
  );
}

function ActionField({ value, set }: { value: Action; set: (action: Action) => void }) {
  const error = useFault('action');
  return (
    <NativeSelect
      name="action"
      label="Action"
      error={error}
      data={action_choices}
      value={value}
      onChange={({ currentTarget }) => set(currentTarget.value as Action)}
    />
  );
}

/** Returns the rule of the form; fields that its action does not use are null. */
function ruleOf(values: Values, action: Action) {
  const text = (name: string) => {
    const value = values[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const value = text('value');
  return {
    name: String(values['name'] ?? ''),
    action,
    events: linesOf(text('events') ?? ''),
    property: text('property'),
    new_name: text('new_name'),
    value: value === null ? null : constantOf(value),
    target: (text('target') ?? 'any') as IngestionRuleRow['target'],
    only_if_missing: isTicked(values, 'only_if_missing'),
    enabled: isTicked(values, 'enabled'),
  };
}
