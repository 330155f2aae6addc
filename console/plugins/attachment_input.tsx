import { Checkbox, FileInput } from '@mantine/core';
import { useState } from 'react';
import { file_not_kept, useFault } from '../form/context.ts';
import { isObject } from './config_fields.ts';
import type { Attachment, SettingField } from './config_fields.ts';

/** A file in the settings: shows the stored one, and lets a person replace or remove it. */
export function AttachmentInput({
  field: { key, label, hint, is_required },
  stored,
  choose,
}: {
  field: SettingField;
  /** The value in the settings. */
  stored: unknown;
  /** Null removes the file; undefined keeps it. */
  choose: (file: Attachment | null | undefined) => void;
}) {
  const error = useFault(`config__${key}`, file_not_kept);
  const [is_gone, setGone] = useState(false);
  const [chosen, setChosen] = useState<Attachment>();
  const take = (file: Attachment) => {
    setChosen(file);
    setGone(false);
    choose(file);
  };
  const name = isObject(stored) ? stored['file_name'] : undefined;
  const hints = [
    is_required && 'Required.',
    hint,
    typeof name === 'string' && `Stored: ${name}. Choose another file to replace it.`,
  ];
  return (
    <>
      <FileInput
        name={`config__${key}`}
        label={label}
        description={hints.filter((one) => typeof one === 'string').join(' ')}
        placeholder="Choose a file"
        error={error}
        onChange={(file) => {
          if (file !== null) void readAttachment(file).then(take);
        }}
      />
      {typeof name === 'string' && !is_required && (
        <Checkbox
          name={`gone__${key}`}
          label={`Take ${name} away`}
          checked={is_gone}
          onChange={({ currentTarget: { checked } }) => {
            setGone(checked);
            choose(checked ? null : chosen);
          }}
        />
      )}
    </>
  );
}

async function readAttachment(file: File): Promise<Attachment> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return {
    file_name: file.name,
    content_type: file.type === '' ? 'application/octet-stream' : file.type,
    contents: btoa(text),
  };
}
