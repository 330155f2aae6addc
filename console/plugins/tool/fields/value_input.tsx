import { NativeSelect, TextInput, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Linked } from '../../../page/text/linked.tsx';
import { choicesOf } from './field_rules.ts';
import type { ActionField } from './field_rules.ts';
import { readValue, shownValue } from '../mapping_text.ts';

/** The value of a field: one of its choices, or a text that may be incomplete JSON while typing. */
export function ValueInput({
  label,
  field,
  value,
  paths_id,
  change,
}: {
  label: string;
  field: ActionField;
  value: unknown;
  /** The list of the event's paths, each with a `$.` before it. */
  paths_id: string;
  change: (value: unknown) => void;
}) {
  const shown = shownValue(value);
  const [typed, setTyped] = useState(shown);
  const text = shownValue(readValue(typed)) === shown ? typed : shown;
  const choices = choicesOf(field);
  const { description } = field;
  const common = { label, description: description && <Linked text={description} /> };
  const isChoice = text === '' || choices.some((one) => one.value === text);
  if (choices.length > 0 && field.multiple !== true && isChoice)
    return (
      <NativeSelect
        {...common}
        value={text}
        data={[...(field.required === true && text !== '' ? [] : ['']), ...choices]}
        onChange={({ currentTarget }) => change(readValue(currentTarget.value))}
      />
    );
  const put = ({ currentTarget }: { currentTarget: { value: string } }) => {
    setTyped(currentTarget.value);
    change(readValue(currentTarget.value));
  };
  const isLong = field.type === 'object' || field.multiple === true || text.length > 80;
  return isLong && !text.startsWith('$.') ? (
    <Textarea {...common} value={text} onChange={put} autosize minRows={2} maxRows={12} />
  ) : (
    <TextInput {...common} value={text} onChange={put} list={paths_id} spellCheck={false} />
  );
}
