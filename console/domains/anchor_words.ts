import type { AnchorChanges, DomainRow } from '../../server/api/domains/schema.ts';
import { provider_names } from '../single_sign_on/provider_names.ts';
import type { Provider } from '../single_sign_on/provider_names.ts';

/** A field of a domain that decides who can sign in. */
export type AnchorField = keyof AnchorChanges;
/** The value of such a field. */
export type AnchorValue = AnchorChanges[AnchorField];

/** The labels of the fields, in the order of the page. */
export const anchor_labels: Record<AnchorField, string> = {
  domain: 'Domain',
  saml_entity_id: 'Entity ID',
  saml_acs_url: 'Sign-on URL',
  saml_x509_cert: 'Certificates',
  sso_enforcement: 'Required sign-in',
  jit_provisioning_enabled: 'Add people at their first sign-in',
};

/** Returns the fields that wait for an owner, in that order. */
export function waitingFields({ pending_changes }: Pick<DomainRow, 'pending_changes'>) {
  const fields = Object.keys(anchor_labels) as AnchorField[];
  return fields.filter((field) => pending_changes?.[field] !== undefined);
}

/** Returns how people of a domain must sign in. */
export function enforcementWords(value: string): string {
  if (value === '') return 'None: any way works';
  if (value === 'saml') return 'Your provider';
  return value in provider_names ? provider_names[value as Provider] : value;
}

/** Returns the value of a field in a few words: for certificates, their number and endings. */
export function anchorWords(field: AnchorField, value: AnchorValue): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (field === 'sso_enforcement') return enforcementWords(value ?? '');
  if (value === undefined || value === null || value === '') return 'Not set';
  return field === 'saml_x509_cert' ? certificateWords(value) : value;
}

/** Characters by which people distinguish certificates. */
const told_characters = 12;

function certificateWords(text: string): string {
  const bodies = text
    .split(/-----[A-Z ]+-----/)
    .map((body) => body.replaceAll(/\s/g, ''))
    .filter((body) => body !== '');
  const ends = bodies.map((body) => `…${body.slice(-told_characters)}`);
  const count = `${bodies.length} ${bodies.length === 1 ? 'certificate' : 'certificates'}`;
  return `${count}, ending with ${new Intl.ListFormat('en-GB').format(ends)}`;
}
