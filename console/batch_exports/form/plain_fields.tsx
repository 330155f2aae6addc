import { NativeSelect, TextInput } from '@mantine/core';
import { useFault } from '../../form/context.ts';

/** A one-line text field of an export. */
export function TextOf({
  name,
  label,
  hint,
  value,
  error,
  set,
}: {
  name: string;
  label: string;
  hint?: string;
  value: string;
  /** The fault of a field that has another name in the API. */
  error?: string | undefined;
  set: (value: string) => void;
}) {
  const fault = useFault(name);
  return (
    <TextInput
      name={name}
      label={label}
      description={hint}
      error={error ?? fault}
      value={value}
      withAsterisk={name === 'name'}
      autoComplete="off"
      onChange={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}

/** A choice field of an export. */
export function ChoiceOf({
  name,
  label,
  hint,
  value,
  data,
  set,
}: {
  name: string;
  label: string;
  hint?: string | undefined;
  value: string;
  data: { value: string; label: string }[];
  set: (value: string) => void;
}) {
  const error = useFault(name);
  return (
    <NativeSelect
      name={name}
      label={label}
      description={hint}
      error={error}
      value={value}
      data={data}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}
