import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { entries_max } from '../../platform/http/caller/key_rules.ts';
import { all_scopes } from '../../platform/http/caller/scopes.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { User } from '../users/schema.ts';

/** The longest time for which a rotated key keeps working beside its successor: a week. */
const overlap_seconds_max = 604_800;

const record = {
  id: uuid(),
  label: text('Purpose.'),
  mask_value: text('The first and last four characters of the key.'),
  scopes: Type.Array(Type.String(), {
    description: 'The rights of the key. `*` is every right of its owner.',
  }),
  scoped_organizations: Type.Array(uuid(), {
    description: 'The key works only in these organizations; empty: no limit.',
  }),
  scoped_teams: Type.Array(Type.Integer(), {
    description:
      'The key works only in these projects, and not in their organizations; empty means no ' +
      'limit.',
  }),
  allowed_ip_ranges: Type.Array(Type.String(), {
    description:
      'It works from these addresses and networks only; empty: from anywhere. Another ' +
      'address gets 403.',
  }),
  expires_at: nullable(instant('The server refuses the key from then on; null: it never expires.')),
  last_used_at: nullable(instant('Precise to the minute; null: never used.')),
  last_used_ip: nullable(text('The IP address of the latest use.')),
  last_used_user_agent: nullable(text('User agent of the client then; at most 400 characters.')),
  created_at: instant(),
  agent: nullable(
    titled('KeyAgent', {
      client_host: nullable(
        text(
          'The host of the document that describes the client; null: it registered itself, ' +
            'without proof of its identity.',
        ),
      ),
      returns_to: text('Address to which the browser was sent after the sign-in.'),
    }),
  ),
};

/** A personal API key in lists and records. The key itself is not stored. */
export const ApiKey = titled('PersonalApiKey', record);

/** The answer that creates a key, the only one that shows it. */
export const NewApiKey = titled('NewPersonalApiKey', {
  ...record,
  value: Type.Optional(
    text('The key. Shown in this answer only. `validate_only` neither creates nor shows one.'),
  ),
});

/** A key's own record. */
export const CurrentApiKey = titled('CurrentPersonalApiKey', { ...record, user: User });

const {
  id,
  label: key_label,
  mask_value,
  scopes: key_scopes,
  expires_at,
  created_at,
  agent,
} = record;

/** A member's key as administrators of an organization see it. */
export const OrganizationApiKey = titled('OrganizationApiKey', {
  id,
  user: User,
  label: key_label,
  mask_value,
  scopes: key_scopes,
  projects: Type.Array(Type.Integer(), {
    description: 'The projects of the organization that it is limited to; empty: no such limit.',
  }),
  expires_at,
  last_used_at: nullable(instant('Anywhere, exact to the minute; null: never used.')),
  created_at,
  agent,
});

/** A member's key as SELECT returns it. */
export type OrganizationApiKeyRow = Static<typeof OrganizationApiKey>;

/** A key as SELECT returns it. */
export type ApiKeyRow = Static<typeof ApiKey>;

/** Printable ASCII, as OAuth requires (RFC 6749, appendix A). */
const visible = (maxLength: number) => Type.String({ maxLength, pattern: '^[\\x20-\\x7e]*$' });

/** The parameters of an authorization request as a client sends them (RFC 6749, 7636 and 8707). */
const asked = {
  client_id: visible(2_000),
  redirect_uri: Type.Optional(visible(500)),
  response_type: Type.Optional(visible(100)),
  scope: Type.Optional(visible(2_000)),
  state: Type.Optional(visible(2_000)),
  code_challenge: Type.Optional(visible(200)),
  code_challenge_method: Type.Optional(visible(20)),
  resource: Type.Optional(visible(500)),
};

/** Body of `agents/preview/`. */
export const AgentRequest = Type.Object(asked);

/** The request of an assistant, before the person decides. */
export const AgentPreview = titled('AgentPreview', {
  name: text('Name that the client gives itself, without proof.'),
  client_host: nullable(Type.String()),
  returns_to: text('Address to which the browser is sent afterwards.'),
  is_local: flag("Whether that is a program on the person's computer."),
  scopes: Type.Array(Type.String()),
  fault: nullable(text('Why the request cannot be granted.')),
  refusal_url: text('Address that returns to the client without a grant.'),
});

const label = lineOfText(100, 'Purpose; surrounding white space is removed.');
const scopes = Type.Array(Type.Enum([...all_scopes, '*']), {
  minItems: 1,
  maxItems: all_scopes.length + 1,
  description: 'No duplicates. `x:write` includes `x:read`; `*` means all scopes.',
});
const limits = {
  scoped_organizations: Type.Optional(
    Type.Array(uuid(), {
      maxItems: entries_max,
      description:
        'Organizations of the caller that the key is limited to; empty (default): no limit.',
    }),
  ),
  scoped_teams: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), {
      maxItems: entries_max,
      description:
        'Projects of the caller that the key is limited to; empty (default): no limit. If both ' +
        'limits are set, a project must be within both.',
    }),
  ),
  allowed_ip_ranges: Type.Optional(
    Type.Array(Type.String({ trim: true, minLength: 1, maxLength: 50 }), {
      maxItems: entries_max,
      description:
        'IP addresses and networks (`203.0.113.0/24`, `2001:db8::/32`) from which the key ' +
        'works. By default, and if empty, it works from everywhere.',
    }),
  ),
  expires_at: Type.Optional(nullable(instant('In the future; default null: it does not expire.'))),
};

/** Body of `agents/`: the request of the client, and the person's decisions. */
export const AgentGrant = Type.Object({
  ...asked,
  scopes,
  scoped_organizations: limits.scoped_organizations,
  scoped_teams: limits.scoped_teams,
  expires_at: instant('In the future, at most a year from now.'),
});

/** The answer to a grant. */
export const AgentGranted = titled('AgentGranted', {
  redirect_url: Type.Optional(
    text('Leads the browser back to the client, with a code; left out with `validate_only`.'),
  ),
});

/** The body of POST. */
export const ApiKeyCreate = Type.Object({ label, scopes, ...limits });
/** Body of PUT: absent optional fields keep their values. */
export const ApiKeyPut = Type.Object({ label, scopes, ...limits });
/** Body of PATCH: only the sent fields change. */
export const ApiKeyPatch = Type.Object({
  label: Type.Optional(label),
  scopes: Type.Optional(scopes),
  ...limits,
});
/** Body of `roll/`. */
export const ApiKeyRoll = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlap_seconds_max,
      description: 'Time for which the old key keeps working, never beyond its own end; default 0.',
    }),
  ),
});

/** The fields of a PATCH or PUT. */
export type ApiKeyChanges = Static<typeof ApiKeyPatch>;
