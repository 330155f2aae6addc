import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { flag, titled, uuid } from '../../platform/http/schemas.ts';

const list_max = 100;
const members_max = 1_000;

const provider_is_second_factor = flag(
  "Whether a sign-in through a provider of the organization counts as the member's second " +
    'factor, if `enforce_2fa` requires one.',
);
const requires_sso = flag(
  'True if members can only sign in through a provider of the organization: one of its ' +
    'verified domains, or an accepted one. Keys work for members whose address is in a ' +
    'domain that enforces its provider. The rule does not apply to `exempt_members`.',
);
const session_hours_max = nullable(
  Type.Integer({
    minimum: 1,
    maximum: 720,
    description:
      'The longest session of a member, in hours; null: 30 days. Of several organizations of a ' +
      'person the shortest time counts.',
  }),
);
const idle_minutes_max = nullable(
  Type.Integer({
    minimum: 5,
    maximum: 10_080,
    description: 'The longest time without a request, in minutes; null: 7 days.',
  }),
);
const allowed_ip_ranges = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: list_max,
  description:
    'From where the organization can be reached, with keys and sessions: ranges in CIDR form; ' +
    'empty: from everywhere.',
});
const accepted_providers = Type.Array(Type.String({ maxLength: 253 }), {
  maxItems: list_max,
  description:
    'Verified domains of other organizations whose provider this organization accepts: a ' +
    'member who signed in through it has access to this organization too.',
});
const exempt_members = Type.Array(uuid(), {
  maxItems: members_max,
  description: 'Members (user uuid) who need no single sign-on even if `requires_sso` is on.',
});

/** The security settings of an organization, in answers. */
export const OrganizationSecurity = titled('OrganizationSecurity', {
  provider_is_second_factor,
  requires_sso,
  session_hours_max,
  idle_minutes_max,
  allowed_ip_ranges,
  accepted_providers,
  exempt_members,
  outside_members: Type.Array(
    Type.Object({ uuid: uuid(), email: Type.String(), is_exempt: Type.Boolean() }),
    {
      description:
        'Members whose address is in no domain with an accepted provider: the first 1,000 ' +
        'by address.',
    },
  ),
});
/** The security settings as the API returns them. */
export type SecurityRow = Static<typeof OrganizationSecurity>;

/** Body of PATCH: only the sent fields change. */
export const SecurityPatch = Type.Object({
  provider_is_second_factor: Type.Optional(provider_is_second_factor),
  requires_sso: Type.Optional(requires_sso),
  session_hours_max: Type.Optional(session_hours_max),
  idle_minutes_max: Type.Optional(idle_minutes_max),
  allowed_ip_ranges: Type.Optional(allowed_ip_ranges),
  accepted_providers: Type.Optional(accepted_providers),
  exempt_members: Type.Optional(exempt_members),
});
/** The fields of a PATCH. */
export type SecurityChanges = Static<typeof SecurityPatch>;
