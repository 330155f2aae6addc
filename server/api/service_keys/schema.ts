import { Type } from 'typebox';
import type { Static } from 'typebox';
import { entries_max } from '../../platform/http/caller/key_rules.ts';
import { all_scopes } from '../../platform/http/caller/scopes.ts';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { User } from '../users/schema.ts';

/** Scopes that need a person: accounts, members, and how people sign in. */
const scopes_of_people: readonly Scope[] = [
  'organization_member:write',
  'organization_security:write',
  'user:read',
  'user:write',
];

/** The scopes that a service key can have. */
export const service_scopes = all_scopes.filter((scope) => !scopes_of_people.includes(scope));

const level_description =
  'The level that it has in the organization: 1 member or 8 administrator. No service ' +
  'key may do what needs an owner.';
const projects_description =
  'The key works only in these projects, and not in the organization beside them; empty: no ' +
  'such limit.';
const ranges_description =
  'IP addresses and networks from which alone the key works; empty: from anywhere.';

const record = {
  id: uuid(),
  name: text('Purpose.'),
  mask_value: text('The first and last four characters of the key.'),
  level: Type.Enum([1, 8], { description: level_description }),
  scopes: Type.Array(Type.String(), { description: 'The rights of the key.' }),
  scoped_teams: Type.Array(Type.Integer(), { description: projects_description }),
  allowed_ip_ranges: Type.Array(Type.String(), { description: ranges_description }),
  expires_at: nullable(instant('The server refuses the key from then on; null: it never expires.')),
  last_used_at: nullable(instant('Precise to the minute; null: never used.')),
  last_used_ip: nullable(text('The IP address of the latest use.')),
  last_used_user_agent: nullable(text('The name of the client then; at most 400 characters.')),
  created_by: nullable(User),
  is_creator_administrator: flag(
    'Whether the person in `created_by`, who saw the key, is an active administrator now. If ' +
      'not, they may still know the key: rotate it.',
  ),
  created_at: instant(),
};

/** A service key in lists and records. The key itself is not stored. */
export const ServiceKey = titled('ServiceKey', record);

/** The answer that creates a service key, the only one that shows it. */
export const NewServiceKey = titled('NewServiceKey', {
  ...record,
  value: Type.Optional(
    text('The key. Shown in this answer only. `validate_only` neither creates nor shows one.'),
  ),
});

/** A service key's own record. */
export const CurrentServiceKey = titled('CurrentServiceKey', {
  ...record,
  organization_id: uuid('The organization of the key.'),
});

/** A service key as SELECT returns it. */
export type ServiceKeyRow = Static<typeof ServiceKey>;

const name = lineOfText(100, 'Purpose; surrounding white space is removed.');
const scopes = Type.Array(Type.Enum(service_scopes), {
  minItems: 1,
  maxItems: service_scopes.length,
  description:
    'Each once; `x:write` includes `x:read`. There is no `*`: a key gets no right that did not ' +
    'exist when it was created.',
});
const limits = {
  level: Type.Optional(Type.Enum([1, 8], { description: `${level_description} Default 1.` })),
  scoped_teams: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), {
      maxItems: entries_max,
      description: `Projects of the organization. ${projects_description}`,
    }),
  ),
  allowed_ip_ranges: Type.Optional(
    Type.Array(Type.String({ trim: true, minLength: 1, maxLength: 50 }), {
      maxItems: entries_max,
      description: ranges_description,
    }),
  ),
  expires_at: Type.Optional(nullable(instant('In the future; default null: it does not expire.'))),
};

/** Body of POST, and of PUT: absent optional fields keep their values. */
export const ServiceKeyCreate = Type.Object({ name, scopes, ...limits });
/** Body of PATCH: only the sent fields change. */
export const ServiceKeyPatch = Type.Object({
  name: Type.Optional(name),
  scopes: Type.Optional(scopes),
  ...limits,
});

/** The fields of a PATCH or PUT. */
export type ServiceKeyChanges = Static<typeof ServiceKeyPatch>;
/** The fields of a new key. */
export type ServiceKeyFields = Static<typeof ServiceKeyCreate>;
