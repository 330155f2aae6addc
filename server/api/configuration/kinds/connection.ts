import { isDeepStrictEqual } from 'node:util';
import { withDefaults } from '../../../engine/model/destination/config_defaults.ts';
import { connectionPart, isOfConnection } from '../../../engine/model/destination/connection.ts';
import { connectionContext, loadConfig } from '../../../engine/model/destination/stored_config.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { mapInTurns } from '../../../platform/pacing/turns.ts';
import { ConnectionCreate } from '../../batch_exports/connections/schema.ts';
import { listStoredConnections } from '../../batch_exports/connections/store.ts';
import { pick, plain_kind, recordUrl } from './kind.ts';
import type { Kind } from './kind.ts';

/** Stored credentials of the organization, which exports reference by key. */
export const connection: Kind = {
  ...plain_kind,
  name: 'connection',
  section: 'connections',
  parent: undefined,
  right: 'batch_export',
  listUrl: ({ organization_id }) => `/api/organizations/${organization_id}/connections/`,
  schema: ConnectionCreate,
  fixed: ['type'],
  secretPaths: ({ type }) => secretKeys(type).map((key) => `config.${key}`),
  spelled: (fields) => ({ ...fields, config: completed(fields['type'], fields['config']) }),
  shortened: (fields) => {
    const usual = completed(fields['type'], {});
    const own = Object.entries(isFields(fields['config']) ? fields['config'] : {}).filter(
      ([key, value]) => !isDeepStrictEqual(value, usual[key]),
    );
    return { ...fields, config: Object.fromEntries(own) };
  },
  read: async ({ deps, db, organization_id }) =>
    mapInTurns(await listStoredConnections(db, organization_id), (row) => {
      const { id, name, destination_type: type } = row;
      const hidden = secretKeys(type);
      const config = Object.entries(loadConfig(deps.secrets, id, row, connectionContext));
      const shown = config.filter(([key]) => !hidden.includes(key));
      const secrets = config.filter(([key]) => hidden.includes(key));
      return {
        id,
        parent_id: '',
        name,
        fields: { name, type, config: completed(type, Object.fromEntries(shown)) },
        secrets: Object.fromEntries(secrets.map(([key, value]) => [`config.${key}`, value])),
      };
    }),
  // Sends the whole config, so that keys that are missing in the files are removed.
  change: (home, standing, wanted) => [
    {
      method: 'PUT',
      url: recordUrl(connection, home, standing),
      body: { ...pick(standing.fields, ['name', 'config']), ...wanted },
    },
  ],
};

function definitionOf(type: unknown) {
  return typeof type === 'string' ? findDestination(type) : undefined;
}

function secretKeys(type: unknown): readonly string[] {
  const definition = definitionOf(type);
  return definition?.secrets.filter((key) => isOfConnection(definition, key)) ?? [];
}

/** If null is the default of a key, null equals an absent key. */
function completed(type: unknown, config: unknown): Fields {
  const definition = definitionOf(type);
  const given = isFields(config) ? config : {};
  if (definition === undefined) return given;
  const usual = Object.entries(connectionPart(definition, withDefaults(definition, {})));
  return {
    ...given,
    ...Object.fromEntries(usual.filter(([key]) => !Object.hasOwn(given, key))),
  };
}
