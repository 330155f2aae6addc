import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { plugin_collections } from '../../engine/plugins/plugin.ts';
import { PageQuery, answerPage } from '../../platform/http/lists/pagination.ts';
import { addRoute } from '../../platform/http/records.ts';
import { beside, besideRecord, no_record } from '../plugins/schema.ts';
import { requirePluginsLevel } from '../plugins/store.ts';
import { PluginConfig } from './schema.ts';
import type { PluginConfigRow } from './schema.ts';
import { listExportingConfigs } from './store.ts';

/**
 * Routes `exports_unsubscribe_configs/` of each collection of plugins. The contract answers with
 * one plugin: the plugin of the first config. The list is a field beside it.
 */
export function exportingRoutes(app: FastifyInstance, { db }: Deps): void {
  for (const collection of plugin_collections)
    addRoute(app, {
      url: `/api/organizations/:organization_id/${collection}/exports_unsubscribe_configs/`,
      config: { within: 'organization', scope: 'plugin:read' },
      summary:
        'List the enabled configs of destinations, which receive all events of their ' +
        'project, newest first',
      description: beside,
      querystring: PageQuery,
      response: { 200: besideRecord(PluginConfig, 'ExportingPluginConfigs') },
      handler: async (request) => {
        await requirePluginsLevel(db, request.access, 3);
        const { organization_id } = request.access;
        const configs = listExportingConfigs(organization_id);
        const page = await answerPage<PluginConfigRow>(request, db, configs);
        return { ...(page.results[0]?.plugin_info ?? no_record), ...page };
      },
    });
}
