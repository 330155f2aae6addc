import { Button, FileInput } from '@mantine/core';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { ProviderFields } from '../../server/api/domains/schema.ts';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { pathTo } from '../http/path.ts';
import { Command } from '../page/command.tsx';
import { guidesOf } from './provider_guides.ts';
import type { OwnValues } from './provider_guides.ts';

/** The fields of a provider from its metadata. */
export type Imported = Static<typeof ProviderFields>;

/** The steps at a common provider, each with the value to copy there. */
export function ProviderGuide({ own }: { own: OwnValues }) {
  const guides = guidesOf(own);
  const [chosen, setChosen] = useState('Okta');
  const steps = guides.find(({ name }) => name === chosen)?.steps ?? [];
  return (
    <>
      <div className="toolbar" role="group" aria-label="Identity provider">
        {guides.map(({ name }) => (
          <Button key={name} aria-pressed={name === chosen} onClick={() => setChosen(name)}>
            {name}
          </Button>
        ))}
      </div>
      <ol className="steps">
        {steps.map(({ text, copy }) => (
          <li key={text}>
            {text}
            {copy !== undefined && <Command text={copy.text} what={copy.what} />}
          </li>
        ))}
      </ol>
    </>
  );
}

/**
 * Reads the provider's fields from pasted or chosen metadata, as an administrator or with the token
 * of a setup link.
 */
export function MetadataImport({
  by,
  imported,
}: {
  by: { organization_id: string } | { token: string };
  imported: (fields: Imported) => void;
}) {
  const [text, setText] = useState('');
  const common = {
    done: (fields: Imported) => {
      imported(fields);
      setText('');
    },
    button: 'Fill in the fields',
    tone: 'plain',
    part: null,
    children: <MetadataFields text={text} setText={setText} />,
  } as const;
  return 'token' in by ? (
    <Form
      path={pathTo('/api/setup_links/provider_metadata/')}
      body={() => ({ token: by.token, metadata: text })}
      {...common}
    />
  ) : (
    <Form
      path={pathTo('/api/organizations/:organization_id/domains/provider_metadata/', by)}
      body={() => ({ metadata: text })}
      {...common}
    />
  );
}

function MetadataFields({ text, setText }: { text: string; setText: (text: string) => void }) {
  return (
    <>
      <FileInput
        label="Metadata file of your provider"
        placeholder="Choose file"
        accept=".xml,application/xml,text/xml"
        onChange={(file) => void file?.text().then(setText)}
      />
      <LongField name="metadata" label="or its text" rows={3} value={text} onChange={setText} />
    </>
  );
}
