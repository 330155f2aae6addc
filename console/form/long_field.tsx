import { Textarea } from '@mantine/core';
import type { ReactNode } from 'react';
import { not_kept, useFault } from './context.ts';
import { entryWords } from './faults.ts';

/** Several lines of text; with `onChange` its text is held by whoever shows it. */
export function LongField({
  name,
  label,
  hint,
  rows = 4,
  length_max,
  is_optional = false,
  ...text
}: {
  /** The API's name of the field. */
  name: string;
  label: string;
  hint?: ReactNode;
  rows?: number;
  length_max?: number;
  /** Left out of what is sent while it is empty. */
  is_optional?: boolean;
} & ({ value: string; onChange: (text: string) => void } | { defaultValue?: string })) {
  const error = useFault(name, not_kept, entryWords(name));
  const held =
    'onChange' in text
      ? {
          value: text.value,
          onChange: ({ currentTarget }: { currentTarget: HTMLTextAreaElement }) =>
            text.onChange(currentTarget.value),
        }
      : text;
  return (
    <Textarea
      name={name}
      label={label}
      description={hint}
      error={error}
      rows={rows}
      maxLength={length_max}
      autoComplete="off"
      spellCheck={false}
      {...held}
      {...(is_optional ? { 'data-optional': '' } : {})}
    />
  );
}
