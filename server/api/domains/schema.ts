import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const jit_description =
  'Whether people who sign in through the identity provider for the first time become members.';
const sso_description =
  'How people with addresses of the domain must sign in: `""` in any way, `saml` with the ' +
  'provider below, or `google-oauth2`, `github`, `gitlab`, `openid` if this server has that ' +
  'provider configured.';
const entity_description = 'The name of the identity provider in SAML (its entity id).';
const url_description =
  "The identity provider's single sign-on URL for HTTP-Redirect, to which this server sends " +
  'people. Not the address of this server that receives the responses (`/complete/saml/`). ' +
  'https, or http for loopback.';
const certificate_description =
  'The certificates with which the identity provider signs: 1 to 10 as PEM, or one as bare ' +
  'base64. While the provider rotates its keys, include both the old and the new ' +
  'certificate.';
const unset = ' An empty text counts as null.';

const Verification = Type.Object(
  {
    state: Type.Enum(['pending', 'verified', 'failed', 'lapsed'], {
      description:
        '`pending`: not proved yet; `verified`; `failed`: not proved in 30 days; `lapsed`: ' +
        'was verified, and the record was missing for 72 hours.',
    }),
    reason: text('Result of the latest check and what to do, for people.'),
    last_checked_at: nullable(
      instant('When the domain was last looked up; null before the first time.'),
    ),
    next_check_at: nullable(
      instant("Time of the server's next check; null if only `verify/` checks."),
    ),
    answers: Type.Array(
      titled('ResolverAnswer', {
        resolver: text('Its address; its number for one in the server’s own network.'),
        outcome: Type.Enum(['met', 'missing', 'unanswered'], {
          description:
            '`met`: the record has the challenge. `missing`: it does not. `unanswered`: unknown.',
        }),
        detail: text('Its answer and the next step, for people.'),
        took_ms: Type.Integer({ minimum: 0 }),
      }),
      {
        description:
          'What each resolver said at `last_checked_at`; empty before the first time. One ' +
          'resolver with the record is enough; the others then get one more second.',
      },
    ),
  },
  { description: 'State of the proof.' },
);

const PendingChanges = Type.Object(
  {
    domain: Type.Optional(Type.String()),
    jit_provisioning_enabled: Type.Optional(Type.Boolean()),
    sso_enforcement: Type.Optional(Type.String()),
    saml_entity_id: Type.Optional(nullable(Type.String())),
    saml_acs_url: Type.Optional(nullable(Type.String())),
    saml_x509_cert: Type.Optional(nullable(Type.String())),
  },
  {
    title: 'PendingDomainChanges',
    description:
      'Changes that wait for an owner, by field: made below level 15, with a key without all ' +
      'scopes, or in a session without a recent confirmation. They take effect when an owner ' +
      'confirms them (`pending_changes/confirm/`). Null if no change waits.',
  },
);

/** The fields of a domain that decide who signs in: trust anchors. */
export const anchor_fields = Object.keys(
  PendingChanges.properties,
) as (keyof (typeof PendingChanges)['properties'])[];

/** Changes of trust anchors. */
export type AnchorChanges = Static<typeof PendingChanges>;

/** A domain in answers. */
export const Domain = titled('Domain', {
  id: uuid(),
  domain: text('The name in lower case; internationalised names as punycode.'),
  is_verified: flag(
    'True if the domain is verified now. The settings below take effect only then.',
  ),
  verified_at: nullable(
    instant('Start of the verification; null while the domain is not verified.'),
  ),
  verification_challenge: text(
    'The value of the TXT record `_sluice-challenge.<domain>` that proves the domain.',
  ),
  jit_provisioning_enabled: flag(jit_description),
  sso_enforcement: text(sso_description),
  has_saml: flag('Whether all three `saml_` fields are set.'),
  saml_entity_id: nullable(text(entity_description)),
  saml_acs_url: nullable(text(url_description)),
  saml_x509_cert: nullable(text(certificate_description)),
  pending_changes: nullable(PendingChanges),
  pending_set_by: nullable(text('Author of the waiting changes.')),
  pending_set_at: nullable(instant('Time of the waiting changes.')),
  verification: Verification,
  managed_by: ManagedBy,
});

/** A domain row as SELECT returns it. */
export type DomainRow = Static<typeof Domain>;

const settable = {
  jit_provisioning_enabled: Type.Optional(
    flag(jit_description + ' Can be switched on for a verified domain only; default false.'),
  ),
  sso_enforcement: Type.Optional(
    Type.String({
      trim: true,
      description:
        `${sso_description} Can be set for a verified domain only; \`saml\` needs all three ` +
        `\`saml_\` fields; default \`""\`.`,
    }),
  ),
  saml_entity_id: Type.Optional(
    nullable(
      Type.String({ trim: true, maxLength: 512, description: `${entity_description}${unset}` }),
    ),
  ),
  saml_acs_url: Type.Optional(
    nullable(
      Type.String({ trim: true, maxLength: 512, description: `${url_description}${unset}` }),
    ),
  ),
  saml_x509_cert: Type.Optional(
    nullable(Type.String({ trim: true, description: `${certificate_description}${unset}` })),
  ),
};

const name_description =
  'The name, for instance `example.com`; in any script. Neither a public mail provider nor a ' +
  'public suffix.';

/** Body of POST. */
export const DomainCreate = Type.Object({
  domain: Type.String({ trim: true, description: name_description }),
  ...settable,
});
/** Body of PATCH and PUT. */
export const DomainPatch = Type.Object({
  domain: Type.Optional(
    Type.String({
      trim: true,
      description:
        `${name_description} With another name the proof starts again with a new challenge; the ` +
        '`saml_` fields stay and open nothing until the new name is proved. 409 while ' +
        '`sso_enforcement` is set or a directory is attached.',
    }),
  ),
  ...settable,
});

/** Body of `provider_metadata/`. */
export const ProviderMetadata = Type.Object({
  metadata: Type.String({
    minLength: 1,
    maxLength: 256 * 1024,
    description: "The XML of the identity provider's SAML metadata.",
  }),
});

/** The fields of a domain that the metadata of its provider contains. */
export const ProviderFields = titled('ProviderFields', {
  saml_entity_id: text(entity_description),
  saml_acs_url: text(url_description),
  saml_x509_cert: text(certificate_description),
});

/** The fields that a request may change. */
export type DomainChanges = Static<typeof DomainPatch>;
