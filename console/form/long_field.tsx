import { Textarea } from '@mantine/core';
import type { ReactNode } from 'react';
import { not_kept, useFault } from './context.ts';
import { entryWords } from './faults.ts';

/** A text field of several lines; with `onChange`, the parent holds its text. */
export function LongField({
  name,
  label,
  hint,
  rows = 4,
  length_max,
  is_optional = false,
  ...text
}: {
  /** The field's name in the API. */
  name: string;
  label: string;
  hint?: ReactNode;
  rows?: number;
  length_max?: number;
  /** Not sent while empty. */
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
