import { Fieldset, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useId } from 'react';
import type { HTMLAttributes, ReactNode } from 'react';
import { Boxes } from './boxes.tsx';
import { useFault } from './context.ts';
import { none_given } from './faults.ts';

type Common = {
  /** The field's name in the API. */
  name: string;
  label: string;
  hint?: ReactNode;
};

/** A one-line text field. */
export function TextField({
  name,
  label,
  hint,
  type = 'text',
  value,
  autoComplete = 'off',
  inputMode,
  is_fixed = false,
  is_optional = false,
  is_unkept = false,
  fault,
}: Common & {
  type?: 'text' | 'email' | 'date';
  value?: string;
  /** HTML's name of the value, for browsers and password managers; by default they ignore it. */
  autoComplete?: string;
  inputMode?: HTMLAttributes<HTMLInputElement>['inputMode'];
  /** Shown and sent, but read-only. */
  is_fixed?: boolean;
  /** Not sent while empty. */
  is_optional?: boolean;
  /** Not stored in this tab, because it may contain a key. */
  is_unkept?: boolean;
  /** A fault that is known before the API answers. */
  fault?: string | undefined;
}) {
  const told = useFault(name);
  const error = told === false ? fault : told;
  return (
    <TextInput
      name={name}
      type={type}
      label={label}
      description={hint}
      error={error}
      defaultValue={value}
      autoComplete={autoComplete}
      inputMode={inputMode}
      readOnly={is_fixed}
      spellCheck={false}
      autoCapitalize={type === 'text' && inputMode === undefined ? 'words' : 'none'}
      {...(is_optional ? { 'data-optional': '' } : {})}
      {...(is_unkept ? { 'data-unkept': '' } : {})}
    />
  );
}

/**
 * A secret that is not the person's own password: a token, a key. The typed value is never stored.
 */
export function SecretField({
  name,
  label,
  hint,
  is_optional = false,
}: Common & { is_optional?: boolean }) {
  const error = useFault(name);
  return (
    <PasswordInput
      name={name}
      label={label}
      description={hint}
      error={error}
      aria-invalid={error !== false}
      autoComplete="off"
      visibilityToggleButtonProps={{ 'aria-label': 'Show the text', tabIndex: 0 }}
      // A visible secret has the same element as other texts, so this marks it.
      data-unkept=""
      {...(is_optional ? { 'data-optional': '' } : {})}
    />
  );
}

const choosing = {
  autoComplete: 'new-password',
  hint: '12 to 200 characters, such as several unrelated words.',
} as const;

/** A password field; `is_new` for a new password. */
export function PasswordField({
  name,
  label,
  is_new = false,
}: Omit<Common, 'hint'> & { is_new?: boolean }) {
  const error = useFault(name);
  return (
    <PasswordInput
      name={name}
      label={label}
      description={is_new ? choosing.hint : undefined}
      error={error}
      aria-invalid={error !== false}
      autoComplete={is_new ? choosing.autoComplete : 'current-password'}
      visibilityToggleButtonProps={{ 'aria-label': 'Show the password', tabIndex: 0 }}
    />
  );
}

/** A code of the second factor, typed or filled in by a password manager. */
export function CodeField({
  label,
  fault,
  is_of_recovery = false,
}: {
  label: string;
  fault?: string | undefined;
  /** True if only a recovery code is accepted. */
  is_of_recovery?: boolean;
}) {
  return (
    <TextField
      name="code"
      label={label}
      fault={fault}
      hint={
        is_of_recovery
          ? 'One of the codes that you got with your first passkey.'
          : 'Six digits of your authenticator app, or a recovery code.'
      }
      autoComplete="one-time-code"
      is_optional
    />
  );
}

/** A choice among a few values. */
export function ChoiceField({
  name,
  label,
  hint,
  options,
  value,
}: Common & { options: { value: string; label: string }[]; value: string }) {
  const error = useFault(name);
  return (
    <NativeSelect
      name={name}
      label={label}
      description={hint}
      error={error}
      data={options}
      defaultValue={value}
      data-initial={value}
    />
  );
}

/** Several choices; the form sends the list of their values. */
export function ChoicesField({
  name,
  label,
  one = 'of these',
  options,
  chosen = [],
}: Omit<Common, 'hint'> & {
  /** The noun for one value, such as "scope". */
  one?: string;
  options: { value: string; label: string }[];
  chosen?: readonly string[];
}) {
  const told = useFault(name);
  const error = told === none_given ? `Choose at least one ${one}.` : told;
  const fault_id = useId();
  return (
    <Fieldset legend={label} variant="unstyled" aria-describedby={fault_id}>
      <Boxes
        name={name}
        options={options}
        chosen={chosen}
        is_wrong={error !== false}
        described_by={fault_id}
      />
      <p className="fault" id={fault_id}>
        {error}
      </p>
    </Fieldset>
  );
}
