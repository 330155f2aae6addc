import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Fields } from '../../../platform/fields.ts';
import { exportPart } from '../../../engine/model/destination/connection.ts';
import { withDefaults } from '../../../engine/model/destination/config_defaults.ts';
import {
  rejected_percent_default,
  rejected_rows_default,
} from '../../../engine/model/destination/rejected_rows.ts';
import { loadConfig } from '../../../engine/model/destination/stored_config.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import { offsetOf, usual_offset } from '../../../engine/exports/planning/offset.ts';
import { text } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';
import { mapInTurns } from '../../../platform/pacing/turns.ts';
import { BatchExportSettings } from '../../batch_exports/schema.ts';
import { listExportSettings } from '../../batch_exports/store.ts';
import type { ExportSettings } from '../../batch_exports/store.ts';
import { pick, plain_kind, recordUrl } from './kind.ts';
import type { Kind, Reading, Standing } from './kind.ts';

const {
  last_paused_at: _the_servers,
  connection_id: _id,
  ...properties
} = BatchExportSettings.properties;
const names = [...Object.keys(properties), 'connection_id'];

type Destination = Static<typeof BatchExportSettings>['destination'];

const no_rule = { mode: null, primary_key: null, version_key: null, allow_empty: false };

/** Batch exports with their destination and query. */
export const batch_export: Kind = {
  ...plain_kind,
  name: 'batch_export',
  section: 'batch_exports',
  parent: 'project',
  right: 'batch_export',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/batch_exports/`,
  schema: Type.Object({
    ...properties,
    connection: Type.Optional(
      nullable(text("Key of a connection: the config then has none of the connection's keys.")),
    ),
  }),
  references: [
    {
      field: 'connection',
      api_field: 'connection_id',
      kind: 'connection',
      within: 'organization',
      is_list: false,
    },
  ],
  defaults: {
    connection: null,
    model: 'events',
    paused: false,
    offset_day: null,
    offset_hour: null,
    offset_minute: null,
    start_at: null,
    end_at: null,
    freshness_seconds: null,
    rejected_rows: 'stop',
    rejected_rows_max: rejected_rows_default,
    rejected_percent_max: rejected_percent_default,
    tags: [],
    custom_query: null,
    columns: null,
    new_columns: 'add',
    ...no_rule,
  },
  secretPaths: (fields) =>
    secretKeys(destinationOf(fields)?.type).map((key) => `destination.config.${key}`),
  spelled: (fields) => {
    const spelled = { ...fields, ...plainOffset(fields) };
    const destination = destinationOf(fields);
    if (destination === undefined) return spelled;
    const { type, config } = destination;
    // Connection and config together name the place, so an unnamed connection is removed.
    const { connection = null } = fields;
    return { ...spelled, connection, destination: completed(type, config, hasConnection(fields)) };
  },
  shortened: (fields) => {
    const destination = destinationOf(fields);
    if (destination === undefined) return fields;
    const { config: usual } = completed(destination.type, {}, hasConnection(fields));
    const own = Object.entries(destination.config ?? {}).filter(
      ([key, value]) => !isDeepStrictEqual(value, (usual as Fields)[key]),
    );
    return { ...fields, destination: { ...destination, config: Object.fromEntries(own) } };
  },
  read: async (reading) =>
    mapInTurns(await listExportSettings(reading.db, reading.organization_id), (row) =>
      standingOf(reading, row),
    ),
  // Sends all fields, so that config keys that are missing in the files are removed. The zone has
  // no default: without one in the files, it stays.
  change: (home, standing, wanted) => [
    {
      method: 'PUT',
      url: recordUrl(batch_export, home, standing),
      body: {
        ...pick(standing.fields, ['name', 'interval', 'timezone', 'destination']),
        ...wanted,
      },
    },
  ],
};

function destinationOf({ destination }: Fields): Destination | undefined {
  const isThere = typeof destination === 'object' && destination !== null;
  return isThere && typeof (destination as Destination).type === 'string'
    ? (destination as Destination)
    : undefined;
}

function secretKeys(type: string | undefined): readonly string[] {
  return (type === undefined ? undefined : findDestination(type)?.secrets) ?? [];
}

function hasConnection(fields: Fields): boolean {
  return (fields['connection'] ?? fields['connection_id'] ?? null) !== null;
}

/** Returns null for the parts of an offset that have their default. */
function plainOffset(fields: Fields): Fields {
  const usual = Object.entries(usual_offset).filter(([name, value]) => fields[name] === value);
  return Object.fromEntries(usual.map(([name]) => [name, null]));
}

/**
 * If null is the default of a key, null equals an absent key. The keys of a connection have no
 * default here.
 */
function completed(
  type: string,
  config: Destination['config'],
  has_connection: boolean,
): Destination {
  const definition = findDestination(type);
  const given: Fields = { ...config };
  if (definition === undefined) return { type, config: given };
  const usual = withDefaults(definition, {});
  const own = has_connection ? exportPart(definition, usual) : usual;
  const absent = Object.entries(own).filter(([key]) => !Object.hasOwn(given, key));
  return { type, config: { ...given, ...Object.fromEntries(absent) } };
}

function standingOf({ deps }: Reading, row: ExportSettings): Standing {
  const secret_keys = secretKeys(row.destination_type);
  const definition = findDestination(row.destination_type);
  const whole = loadConfig(deps.secrets, row.id, row);
  const offset = offsetOf(row);
  const has_connection = hasConnection(row);
  const own = has_connection && definition !== undefined ? exportPart(definition, whole) : whole;
  const config = Object.entries(own);
  const shown = config.filter(([key]) => !secret_keys.includes(key));
  const hidden = config.filter(([key]) => secret_keys.includes(key));
  return {
    id: row.id,
    parent_id: String(row.team_id),
    name: row.name,
    fields: {
      ...pick({ ...row, ...offset, ...plainOffset(offset), ...no_rule, ...row.write_rule }, names),
      destination: completed(row.destination_type, Object.fromEntries(shown), has_connection),
    },
    secrets: Object.fromEntries(hidden.map(([key, value]) => [`destination.config.${key}`, value])),
  };
}
