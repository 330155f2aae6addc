import { Type } from 'typebox';
import { domainSpelling } from '../../../platform/dns/domain_spelling.ts';
import { DomainCreate } from '../../domains/schema.ts';
import type { DomainRow } from '../../domains/schema.ts';
import { listDomains } from '../../domains/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(DomainCreate.properties);
const all = { limit: 10_000, offset: 0 };

/** Domains with their single sign-on. Proving a domain stays outside of configurations. */
export const domain: Kind = {
  ...plain_kind,
  name: 'domain',
  section: 'domains',
  parent: undefined,
  right: 'organization',
  listUrl: ({ organization_id }) => `/api/organizations/${organization_id}/domains/`,
  schema: Type.Object(DomainCreate.properties),
  identity: 'domain',
  fixed: ['domain'],
  defaults: {
    jit_provisioning_enabled: false,
    sso_enforcement: '',
    saml_entity_id: null,
    saml_acs_url: null,
    saml_x509_cert: null,
  },
  spelled: (fields) => {
    const given = String(fields['domain']);
    return { ...fields, domain: domainSpelling(given) ?? given };
  },
  read: async ({ db, organization_id }) =>
    (await db.rows<DomainRow>(listDomains(organization_id).rows(all))).map((row) => ({
      id: row.id,
      parent_id: '',
      name: row.domain,
      fields: pick(row, names),
      secrets: {},
    })),
};
