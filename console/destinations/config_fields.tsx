import { Checkbox, NativeSelect, PasswordInput, TextInput, Textarea } from '@mantine/core';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import { useContext } from 'react';
import { FormContext, not_kept, useFault } from '../form/context.ts';
import { Seldom } from '../page/section.tsx';
import { Coded } from '../page/text/coded.tsx';
import {
  choicesOf,
  fieldValue,
  hintOf,
  isRequired,
  isShown,
  keysOf,
  kindOf,
  leadsElsewhere,
  mustBeFilled,
  secretHint,
} from './config.ts';
import type { Config, KeySchema, Typed } from './config.ts';
import { inLabels } from './labels.ts';

const prefix_of_exports = 'destination__config__';

/** Keys of all destinations, about the exported events. */
export const filter_keys = ['include_events', 'exclude_events'];

type Given = {
  /** The prefix of a key in the names of fields and faults. */
  prefix?: string;
  type: DestinationType;
  typed: Typed;
  /** Secrets that were typed earlier and not stored. */
  lost?: readonly string[];
  /** The stored config; undefined for a new destination. */
  stored: Config | undefined;
  /** The keys with a stored secret. */
  secret_keys: readonly string[];
  set: (key: string, value: string | boolean | null) => void;
};

/**
 * The fields of a destination, from its schema, with rarely used ones in a summary. A secret's
 * field says what happens to the stored one.
 */
export function ConfigFields(given: Given) {
  const { prefix = prefix_of_exports, type, typed, stored, secret_keys } = given;
  const { violations, lost } = useContext(FormContext);
  const elsewhere = leadsElsewhere(type, typed, stored);
  const shown = keysOf(type).filter(
    ([key]) => !filter_keys.includes(key) && isShown(type, key, typed, stored),
  );
  const draw = ([key, schema]: [string, KeySchema]) => (
    <Field key={key} {...given} name={key} schema={schema} elsewhere={elsewhere} />
  );
  const isSeldom = ([key]: [string, KeySchema]) => type.seldom_keys.includes(key);
  const seldom = shown.filter(isSeldom);
  // Open if a field inside is set, lost or wrong.
  const is_open = seldom.some(
    ([key, schema]) =>
      secret_keys.includes(key) ||
      isSet(schema, typed[key] ?? stored?.[key]) ||
      given.lost?.includes(key) === true ||
      [...lost, ...violations.map(({ attr }) => attr)].includes(`${prefix}${key}`),
  );
  return (
    <>
      {shown.filter((entry) => !isSeldom(entry)).map(draw)}
      {seldom.length > 0 && (
        <Seldom summary="Advanced" is_open={is_open}>
          <div className="together">{seldom.map(draw)}</div>
        </Seldom>
      )}
    </>
  );
}

function isSet(schema: KeySchema, value: unknown): boolean {
  const is_default = value === (schema.default ?? null) || value === undefined;
  return !is_default && value !== '' && value !== false;
}

/** The fields for included and excluded events. */
export function FilterFields(given: Given) {
  return keysOf(given.type)
    .filter(([key]) => filter_keys.includes(key))
    .map(([key, schema]) => (
      <Field key={key} {...given} name={key} schema={schema} elsewhere={[]} />
    ));
}

const none = { value: '', label: 'None' };
const labelled = (value: string) => ({ value, label: value.replaceAll('\n', ' and ') });

type OneField = Given & { name: string; schema: KeySchema; elsewhere: string[] };

function Field(given: OneField) {
  const { prefix = prefix_of_exports, type, name, schema, typed, stored, set } = given;
  const attr = `${prefix}${name}`;
  const fault = useFault(attr);
  const error = fault !== false && inLabels(type, fault);
  const label = schema.title ?? name;
  if (schema.writeOnly === true) return <SecretField {...given} attr={attr} error={error} />;
  const value = fieldValue(name, schema, typed, stored);
  const kind = kindOf(schema);
  const common = {
    name: attr,
    label,
    error,
    description: describedBy(inLabels(type, hintOf(schema))),
    required: mustBeFilled(type, name),
    withAsterisk: mustBeFilled(type, name),
  };
  if (kind === 'box')
    return (
      <Checkbox
        {...common}
        required={false}
        checked={value === true}
        onChange={({ currentTarget }) => set(name, currentTarget.checked)}
      />
    );
  const chosen = (key: string) =>
    fieldValue(key, Object.fromEntries(keysOf(type))[key] ?? {}, typed, stored);
  if (kind === 'choice')
    return (
      <NativeSelect
        {...common}
        value={String(value)}
        onChange={({ currentTarget }) => set(name, currentTarget.value)}
        data={choicesOf(type, name, schema, chosen)
          .toSorted((one, other) => Number(other === null) - Number(one === null))
          .map((one) => (one === null || one === '' ? none : labelled(one)))}
      />
    );
  const text = {
    ...common,
    value: String(value),
    placeholder: exampleOf(schema),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      set(name, currentTarget.value),
    autoComplete: 'off',
    spellCheck: false,
  };
  return kind === 'text' || kind === 'number' ? (
    <TextInput {...text} inputMode={kind === 'number' ? 'numeric' : 'text'} />
  ) : (
    <Textarea {...text} autosize minRows={2} maxRows={10} />
  );
}

function describedBy(hint: string) {
  return hint === '' ? undefined : <Coded text={hint} />;
}

function exampleOf({ examples: [first] = [] }: KeySchema): string | undefined {
  return first === undefined ? undefined : [first].flat().map(String).join(', ');
}

/**
 * A secret: a typed value is sent, an empty field keeps the stored value. If a change would send
 * the stored secret to another place, it must be typed again, which the field says before the
 * server does.
 */
function SecretField({
  type,
  name,
  schema,
  typed,
  lost = [],
  secret_keys,
  set,
  elsewhere,
  attr,
  error,
}: OneField & { attr: string; error: string | false }) {
  const is_required = isRequired(type, name);
  const given = typed[name];
  const is_stored = secret_keys.includes(name);
  const is_kept = is_stored && (given === undefined || given === '');
  const why = lost.includes(name)
    ? not_kept
    : is_kept
      ? whyAgain(elsewhere, is_required)
      : undefined;
  const common = {
    name: attr,
    label: schema.title ?? name,
    description: describedBy(inLabels(type, secretHint(schema, is_stored))),
    error: error === false ? why : error,
    required: mustBeFilled(type, name) && !is_stored,
    withAsterisk: mustBeFilled(type, name) && !is_stored,
    value: typeof given === 'string' ? given : '',
    disabled: given === null,
    autoComplete: 'new-password',
    spellCheck: false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      set(name, currentTarget.value),
  };
  return (
    <div className="secret">
      {kindOf(schema) === 'text' ? (
        <PasswordInput
          {...common}
          aria-invalid={common.error !== undefined}
          visibilityToggleButtonProps={{ 'aria-label': `Show ${common.label}`, tabIndex: 0 }}
        />
      ) : (
        <Textarea
          {...common}
          classNames={{ input: 'secret_text' }}
          autosize
          minRows={3}
          maxRows={8}
        />
      )}
      {is_stored && !is_required && (
        <RemoveBox label={common.label} is_removed={given === null} name={name} set={set} />
      )}
    </div>
  );
}

/** Returns why a secret must be entered again; undefined if its address has not changed. */
function whyAgain(elsewhere: string[], is_required: boolean): string | undefined {
  if (elsewhere.length === 0) return undefined;
  const what = is_required ? 'Enter it again.' : 'Enter it again or remove it.';
  return `This secret would go elsewhere, because you changed ${elsewhere.join(', ')}. ${what}`;
}

function RemoveBox({
  label,
  name,
  is_removed,
  set,
}: Pick<OneField, 'name' | 'set'> & { label: string; is_removed: boolean }) {
  return (
    <Checkbox
      size="xs"
      mt={6}
      checked={is_removed}
      label={`Remove ${label}`}
      onChange={({ currentTarget }) => set(name, currentTarget.checked ? null : '')}
    />
  );
}
