import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const Level = (description: string) => Type.Enum([1, 8, 15], { description });

const Team = Type.Object({
  id: Type.Integer(),
  uuid: uuid(),
  organization: uuid(),
  name: Type.String(),
  api_token: text('The public token for sending events.'),
  timezone: Type.String(),
  created_at: instant('When the project was created.'),
});

const Feature = Type.Object({ key: Type.String(), name: Type.String() });

/** An organization in answers. */
export const Organization = titled('Organization', {
  id: uuid(),
  name: text('Name for people, 1 to 64 characters.'),
  slug: text('Made from the first name; unique. Renaming does not change it.'),
  created_at: instant('When the organization was created.'),
  updated_at: instant('Time of the last change of one of its own fields.'),
  membership_level: Level('The level of the caller: 1 member, 8 administrator, 15 owner.'),
  plugins_access_level: Type.Enum([0, 3, 6, 9], {
    description:
      'What the organization may do with plugins: 0 nothing, 3 configure, 6 install, 9 ' +
      'also publish them to all organizations. The operator sets it.',
  }),
  teams: Type.Array(Team, { description: 'The projects, oldest first.' }),
  available_product_features: Type.Array(Feature, { description: 'Features of this server.' }),
  is_member_join_email_enabled: flag('Whether members get a mail when somebody joins.'),
  metadata: text('A JSON object as text.'),
  customer_id: nullable(text('Id in a billing system.')),
  enforce_2fa: nullable(flag('Whether members must use a second factor; null: not decided.')),
  forbids_agent_writes: flag(
    'Whether agents (MCP clients) may change nothing here, whatever their key allows.',
  ),
  member_count: text('Number of active members, as text.'),
  managed_by: ManagedBy,
});

/** An organization row as SELECT returns it. */
export type OrganizationRow = Static<typeof Organization>;

const name = lineOfText(64, 'Name for people; white space around it is removed.');
const optional = {
  is_member_join_email_enabled: Type.Optional(
    flag('Whether members get a mail when somebody joins; default true.'),
  ),
  enforce_2fa: Type.Optional(
    nullable(
      flag(
        'Whether members must use a second factor; default null. It applies to everybody at ' +
          'once. If you switch it on without a second factor of your own, you are locked out ' +
          'until you set one up.',
      ),
    ),
  ),
  forbids_agent_writes: Type.Optional(
    flag(
      'If true, agents (clients of MCP: `/mcp` and `sluice mcp`) cannot change anything here, ' +
        'whatever their key; default false.',
    ),
  ),
};

/** Body of POST and PUT. */
export const OrganizationCreate = Type.Object({ name, ...optional });
/** Body of PATCH: only the sent fields change. */
export const OrganizationPatch = Type.Object({ name: Type.Optional(name), ...optional });

/** The fields that users set. */
export type OrganizationFields = Static<typeof OrganizationCreate>;
/** The fields of a PATCH or PUT. */
export type OrganizationChanges = Static<typeof OrganizationPatch>;
