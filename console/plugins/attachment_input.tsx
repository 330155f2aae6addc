import { Checkbox, FileInput } from '@mantine/core';
import { useState } from 'react';
import { useFault } from '../form/context.ts';
import { isObject } from './config_fields.ts';
import type { Attachment, SettingField } from './config_fields.ts';

/** A file of the settings: what is stored, another in its place, or none any more. */
export function AttachmentInput({
  field: { key, label, hint, is_required },
  stored,
  choose,
}: {
  field: SettingField;
  /** The value that the settings have. */
  stored: unknown;
  /** Null: the file goes. */
  choose: (file: Attachment | null) => void;
}) {
  const error = useFault(`config__${key}`);
  const [is_gone, setGone] = useState(false);
  const name = isObject(stored) ? stored['file_name'] : undefined;
  const hints = [
    is_required && 'Required.',
    hint,
    typeof name === 'string' && `Stored: ${name}. It stays unless another one is chosen.`,
  ];
  return (
    <>
      <FileInput
        label={label}
        description={hints.filter((one) => typeof one === 'string').join(' ')}
        placeholder="Choose a file"
        error={error}
        onChange={(file) => {
          if (file !== null) void readAttachment(file).then(choose);
        }}
      />
      {typeof name === 'string' && !is_required && (
        <Checkbox
          label={`Take ${name} away`}
          checked={is_gone}
          onChange={({ currentTarget: { checked } }) => {
            setGone(checked);
            if (checked) choose(null);
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
