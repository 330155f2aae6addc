import { Button, Fieldset } from '@mantine/core';
import { useState } from 'react';
import { Linked } from '../../../page/text/linked.tsx';
import { isObject } from '../../config_fields.ts';
import { ChoiceInput } from './choice_input.tsx';
import type { AskChoices } from './choices.ts';
import { labelOf } from './field_rules.ts';
import type { ActionField } from './field_rules.ts';
import { readValue, shownValue } from '../mapping_text.ts';
import { ValueInput } from './value_input.tsx';

type Given = {
  /** The name of the field for the tool: `list_id`, `details.kind`, `items.[0].kind`. */
  path: string;
  label: string;
  field: ActionField;
  value: unknown;
  paths_id: string;
  asking: AskChoices;
  change: (value: unknown) => void;
};

/** The value of a field; one for which the tool offers values, or keys, has inputs for them. */
export function FieldInput(given: Given) {
  const { field, value } = given;
  const { dynamic = false, multiple = false, properties = {}, type } = field;
  const hasParts = Object.values(properties).some((part) => part.dynamic === true);
  if (hasParts && multiple && (value === undefined || isListOfObjects(value)))
    return <ListInput {...given} list={value ?? []} parts={properties} />;
  if (!multiple && isPlain(value)) {
    if (hasParts) return <PartsInput {...given} values={value ?? {}} parts={properties} />;
    if (dynamic && type === 'object') return <KeysInput {...given} values={value ?? {}} />;
  }
  return dynamic && type !== 'object' ? <ChosenInput {...given} /> : <ValueInput {...given} />;
}

/** True for an object without a directive, and for none. */
function isPlain(value: unknown): value is Record<string, unknown> | undefined {
  if (value === undefined) return true;
  return isObject(value) && !Object.keys(value).some((key) => key.startsWith('@'));
}

function isListOfObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every((one) => isObject(one) && isPlain(one));
}

function ChosenInput({ path, label, field, value, paths_id, asking, change }: Given) {
  const shown = shownValue(value);
  const [typed, setTyped] = useState(shown);
  const { description, type } = field;
  // Digits of an id are no number.
  const read = (text: string) => {
    const one = readValue(text);
    return type === 'string' && typeof one === 'number' ? text.trim() : one;
  };
  const isTyped = shownValue(readValue(typed)) === shown;
  return (
    <ChoiceInput
      label={label}
      description={description && <Linked text={description} />}
      field={path}
      asking={asking}
      paths_id={paths_id}
      text={typeof value === 'string' ? value : isTyped ? typed : shown}
      put={(text) => {
        setTyped(text);
        change(read(text));
      }}
      choose={(one) => change(type === 'string' ? one : readValue(one))}
    />
  );
}

type Parts = { parts: Record<string, ActionField> };
type Values = { values: Record<string, unknown> };

/** The parts of an object. */
function PartsInput({ label, field, values, parts, change, ...given }: Given & Parts & Values) {
  return (
    <Group label={label} field={field}>
      {Object.entries(parts).map(([key, part]) => (
        <FieldInput
          key={key}
          {...given}
          path={`${given.path}.${key}`}
          label={labelOf(key, part)}
          field={part}
          value={values[key]}
          change={(value) => change(withPart(values, key, value))}
        />
      ))}
    </Group>
  );
}

/** The object with another part; undefined without any. */
function withPart(values: Record<string, unknown>, key: string, value: unknown) {
  const { [key]: _before, ...others } = values;
  const all = value === undefined ? others : { ...others, [key]: value };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** Several objects. */
function ListInput({
  list,
  change,
  ...given
}: Given & Parts & { list: Record<string, unknown>[] }) {
  const { label, field, path } = given;
  const put = (all: unknown[]) => change(all.length === 0 ? undefined : all);
  return (
    <Group label={label} field={field}>
      {list.map((values, at) => (
        <div key={at}>
          <PartsInput
            {...given}
            path={`${path}.[${at}]`}
            label={`${label} ${at + 1}`}
            field={{}}
            values={values}
            change={(value) => put(list.with(at, (value ?? {}) as Record<string, unknown>))}
          />
          <Remove what={`${label} ${at + 1}`} remove={() => put(list.toSpliced(at, 1))} />
        </div>
      ))}
      <Add to={label} add={() => put([...list, {}])} />
    </Group>
  );
}

/** An object whose keys the tool offers, with a value for each. */
function KeysInput({ label, field, values, change, ...given }: Given & Values) {
  const { path, asking, paths_id } = given;
  const [typed, setTyped] = useState('');
  const add = (key: string) => {
    setTyped('');
    if (key !== '' && !Object.hasOwn(values, key)) change({ ...values, [key]: '' });
  };
  return (
    <Group label={label} field={field}>
      {Object.entries(values).map(([key, value]) => (
        <div key={key} className="key_row">
          <ValueInput
            label={key}
            field={{}}
            value={value}
            paths_id={paths_id}
            change={(next) => change({ ...values, [key]: next ?? '' })}
          />
          <Remove what={key} remove={() => change(withPart(values, key, undefined))} />
        </div>
      ))}
      <ChoiceInput
        label={`Name to add to ${label}`}
        field={`${path}.__keys__`}
        asking={asking}
        text={typed}
        put={setTyped}
        choose={add}
      />
      <Add to={label} add={() => add(typed.trim())} />
    </Group>
  );
}

function Group({
  label,
  field: { description },
  children,
}: Pick<Given, 'label' | 'field'> & { children: React.ReactNode }) {
  return (
    <Fieldset legend={label}>
      {description !== undefined && (
        <p className="muted">
          <Linked text={description} />
        </p>
      )}
      <div className="together">{children}</div>
    </Fieldset>
  );
}

function Add({ to, add }: { to: string; add: () => void }) {
  return (
    <div>
      <Button size="compact-sm" aria-label={`Add to ${to}`} onClick={add}>
        Add
      </Button>
    </div>
  );
}

function Remove({ what, remove }: { what: string; remove: () => void }) {
  return (
    <Button aria-label={`Remove ${what}`} onClick={remove}>
      Remove
    </Button>
  );
}
