import { useState } from 'react';
import { TextField } from '../form/fields.tsx';
import { LongField } from '../form/long_field.tsx';
import { anchor_labels } from './anchor_words.ts';
import { entityIdHint } from './provider_guides.ts';

/** The fields that together define an identity provider. */
export const saml_fields = ['saml_entity_id', 'saml_acs_url', 'saml_x509_cert'] as const;

/** One of these fields. */
export type SamlField = (typeof saml_fields)[number];

/** The inputs of an identity provider, with these texts. */
export function ProviderFieldsInputs({ textOf }: { textOf: (field: SamlField) => string }) {
  return (
    <>
      <EntityIdField value={textOf('saml_entity_id')} />
      <TextField
        name="saml_acs_url"
        label={anchor_labels.saml_acs_url}
        hint="The provider’s single sign-on URL for HTTP-Redirect."
        value={textOf('saml_acs_url')}
        inputMode="url"
      />
      <LongField
        name="saml_x509_cert"
        label={anchor_labels.saml_x509_cert}
        hint={
          'In PEM format, one below the other. ' +
          'During a key rotation, enter the old and the new one.'
        }
        rows={6}
        defaultValue={textOf('saml_x509_cert')}
      />
    </>
  );
}

/** The name of the provider, with a hint if it does not look like an entity id. */
function EntityIdField({ value }: { value: string }) {
  const [typed, setTyped] = useState(value);
  const hint = entityIdHint(typed);
  return (
    <div
      className="together"
      onInput={({ target }) => {
        if (target instanceof HTMLInputElement) setTyped(target.value);
      }}
    >
      <TextField
        name="saml_entity_id"
        label={anchor_labels.saml_entity_id}
        value={value}
        inputMode="url"
      />
      {hint !== undefined && <p className="warn">{hint}</p>}
    </div>
  );
}
