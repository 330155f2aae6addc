import { Type } from 'typebox';
import type { Static } from 'typebox';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { unplanned_fates } from '../../engine/ingest/rules/tracking_plan.ts';
import { retentions } from '../../engine/privacy/retention/setting.ts';
import { ManagedBy } from '../managed/schema.ts';
import { lineOfText } from '../../platform/line_of_text.ts';

const fates = ['keep', 'mark', 'drop'] as const;
/** Treatment of unwanted events. */
export type EventFate = (typeof fates)[number];

const traffic = {
  robot_events: Type.Enum([...fates], {
    description:
      'Treatment of SDK events from known robots: kept, marked with `$is_robot`, or dropped ' +
      'and counted as a warning. Default `keep`.',
  }),
  internal_events: Type.Enum([...fates], {
    description: 'The same for events from `internal_addresses`, with the mark `$is_internal`.',
  }),
  internal_addresses: Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
    maxItems: 100,
    description: 'Addresses and networks (`203.0.113.0/24`, `2001:db8::/32`) of your own people.',
  }),
};

const ingestion = {
  unplanned_events: Type.Enum([...unplanned_fates], {
    description:
      'Treatment of events that are not in the tracking plan (`planned_events/`): allowed ' +
      '(default), stored with an ingestion warning, or refused. Names that begin with `$` ' +
      'belong to SDKs and are always allowed.',
  }),
  fill_device_properties: flag(
    'Fill `$browser`, `$browser_version`, `$os`, `$os_version` and `$device_type` from the ' +
      'user agent of the event or its browser, if the SDK sent none. Default false.',
  ),
};

const keeping = {
  retention: Type.Enum([...retentions], {
    description:
      'How long events, and replaced versions of persons, are kept: `forever` (default), for ' +
      '`days`, or `until_delivered`. The last one keeps a row until every export that may ' +
      'select it has delivered it by a signed receipt. `retention/` says what that would ' +
      'remove.',
  }),
  retention_days: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description:
      'Minimum number of days that a row is kept, unless it is kept for ever. Default 30.',
  }),
};

const keeping_changes = Type.Partial(Type.Object(keeping)).properties;
const ingestion_changes = Type.Partial(Type.Object(ingestion)).properties;
const traffic_changes = Type.Partial(Type.Object(traffic)).properties;

/** A project in answers. */
export const Project = titled('Project', {
  id: whole('The id in paths, and `team_id` in exports.'),
  uuid: uuid(),
  organization: uuid('The organization of the project.'),
  name: Type.String(),
  api_token: text('The public token for sending events. It gives no right to read.'),
  timezone: text('The time zone of days and weeks for new exports.'),
  ...traffic,
  ...ingestion,
  ...keeping,
  created_at: instant(),
  updated_at: instant(),
  managed_by: ManagedBy,
});

/** A project row as SELECT returns it. */
export type ProjectRow = Static<typeof Project>;
/** A project's settings for robots and its own people. */
export type ProjectTraffic = Pick<ProjectRow, keyof typeof traffic>;

const name = lineOfText(200, 'Name for people; white space around it is removed.');
const timezone = Type.Optional(
  Type.String({
    trim: true,
    minLength: 1,
    maxLength: 64,
    description: 'Name in the IANA time zone database, such as `Europe/Berlin`; default `UTC`.',
  }),
);

/** Body of POST. */
export const ProjectCreate = Type.Object({
  name,
  timezone,
  organization: Type.Optional(
    uuid(
      'Where the project is created; default the oldest organization in which the caller is at ' +
        'least administrator.',
    ),
  ),
});
/** Body of PUT: absent fields keep their values. A project cannot move to another organization. */
export const ProjectPut = Type.Object({
  name,
  timezone,
  ...traffic_changes,
  ...ingestion_changes,
  ...keeping_changes,
});
/** Body of PATCH: only the sent fields change. */
export const ProjectPatch = Type.Object({
  name: Type.Optional(name),
  timezone,
  ...traffic_changes,
  ...ingestion_changes,
  ...keeping_changes,
});

/** The fields of a PATCH or PUT. */
export type ProjectChanges = Static<typeof ProjectPatch>;
