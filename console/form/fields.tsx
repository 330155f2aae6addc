import { Fieldset, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useId } from 'react';
import type { HTMLAttributes, ReactNode } from 'react';
import { Boxes } from './boxes.tsx';
import { useFault } from './context.ts';
import { none_given } from './faults.ts';

type Common = {
  /** The API's name of the field. */
  name: string;
  label: string;
  hint?: ReactNode;
};

/** One line of text. */
export function TextField({
  name,
  label,
  hint,
  type = 'text',
  value,
  autoComplete,
  inputMode,
  is_fixed = false,
  is_optional = false,
  is_unkept = false,
  fault,
}: Common & {
  type?: 'text' | 'email' | 'date';
  value?: string;
  /** The value that browsers and password managers may fill in, as HTML names it. */
  autoComplete: string;
  inputMode?: HTMLAttributes<HTMLInputElement>['inputMode'];
  /** Shown and sent, but not changed. */
  is_fixed?: boolean;
  /** Left out of what is sent while it is empty. */
  is_optional?: boolean;
  /** Left out of what this tab keeps, because a key may be a part of it. */
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

/** A secret of something else than the person: a token, a key. Nothing keeps what is typed. */
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
      // Once it is shown, its element looks like that of any other text.
      data-unkept=""
      {...(is_optional ? { 'data-optional': '' } : {})}
    />
  );
}

const choosing = {
  autoComplete: 'new-password',
  hint: '12 to 200 characters, such as several unrelated words.',
} as const;

/** A password; `is_new` for one that is being chosen. */
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

/** A code of the second factor, to be typed or filled in by a password manager. */
export function CodeField({
  label,
  fault,
  is_of_recovery = false,
}: {
  label: string;
  fault?: string | undefined;
  /** True if no other code than one of these would do. */
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

/** One of a few. */
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

/** Any number of several; what is sent is the list of their values. */
export function ChoicesField({
  name,
  label,
  one = 'of these',
  options,
  chosen = [],
}: Omit<Common, 'hint'> & {
  /** The word for one of them, such as "scope". */
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
