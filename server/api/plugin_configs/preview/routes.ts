import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { previewMappings } from '../../../engine/plugins/tools/preview.ts';
import { toolOf } from '../../../engine/plugins/tools/tool.ts';
import type { ToolDefinition } from '../../../engine/plugins/tools/tool.ts';
import { PluginError } from '../../../engine/plugins/plugin.ts';
import { loadVersion } from '../../../engine/plugins/versions.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { findVisiblePlugin, requirePluginsLevel } from '../../plugins/store.ts';
import { wantedEvent } from '../try_out/wanted_event.ts';
import { MappingPreviewBody, MappingPreviews } from './schema.ts';

/** Route that maps an event by mappings which are not stored yet. */
export function previewRoute(app: FastifyInstance, deps: Deps): void {
  app.post(
    '/api/projects/:project_id/plugin_configs/preview/',
    {
      config: { within: 'project', scope: 'plugin:write', level: 8, no_store: true },
      schema: {
        summary: "Preview the requests of a destination's mappings for an event",
        description:
          'Nothing is sent or stored, and no code of the tool runs: each mapping is checked, ' +
          'and resolved for the event. A destination with its own code has one action, ' +
          '`event`, without fields: it shows whether an `event_choice` selects the event. ' +
          'Needs the plugins access level 3.',
        body: MappingPreviewBody,
        response: { 200: MappingPreviews },
      },
    },
    async (request): Promise<MappingPreviews> => {
      await requirePluginsLevel(deps.db, request.access, 3);
      const {
        plugin,
        mappings,
        sends_dollar = false,
        allowed_hosts,
        ...wanted
      } = body(request, MappingPreviewBody);
      const { definition } = await readTool(deps, request, plugin);
      const event = await wantedEvent(deps, request.access.team_id!, wanted);
      const now_ms = deps.clock.now();
      const { event: called, results } = await previewMappings(definition, mappings, event, {
        sends_dollar,
        allowed_hosts,
        outbound: deps.outbound,
        now_ms,
      });
      const text = (fields: object | null) => fields && JSON.stringify(fields);
      return {
        event: JSON.stringify(called),
        results: results.map((one) => ({ ...one, fields: text(one.fields) })),
      };
    },
  );
}

/** Stands for a destination with its own code, which gets events unchanged. */
const of_code: ToolDefinition = {
  directory: '',
  version: '',
  hosts: [],
  settings: {},
  actions: { event: { fields: {} } },
  presets: [],
  templates: [],
};

/** Returns the destination and its settings. Throws 400 unless the organization can use it. */
export async function readTool(
  { db, secrets }: Deps,
  request: FastifyRequest,
  plugin: number,
): Promise<{ definition: ToolDefinition; config_schema: unknown }> {
  const found = await findVisiblePlugin(db, request.access.organization_id, plugin);
  try {
    if (found?.collection === 'pipeline_destinations')
      return {
        definition: toolOf((await loadVersion(db, secrets, plugin)).files) ?? of_code,
        config_schema: found.config_schema,
      };
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
  }
  throw invalid('plugin', 'invalid_input', 'The organization has no destination with this id.');
}
