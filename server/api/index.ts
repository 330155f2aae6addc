import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { accountRoutes } from './account/routes.ts';
import { activityRoutes } from './activity/routes.ts';
import { apiKeyRoutes } from './api_keys/routes.ts';
import { batchExportRoutes } from './batch_exports/routes.ts';
import { captureRoutes } from './capture/routes.ts';
import { configurationRoutes } from './configuration/routes.ts';
import { consoleRoutes } from './console/routes.ts';
import { destinationRoutes } from './destinations/routes.ts';
import { domainRoutes } from './domains/routes.ts';
import { erasureRoutes } from './erasures/routes.ts';
import { eventCatalogueRoutes } from './event_catalogue/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { icebergRoutes } from './iceberg/routes.ts';
import { ingestionRuleRoutes } from './ingestion_rules/routes.ts';
import { ingestionWarningRoutes } from './ingestion_warnings/routes.ts';
import { instanceRoutes } from './instance/routes.ts';
import { fileDownloadRoutes } from './file_downloads/routes.ts';
import { lakeTableRoutes } from './lake_tables/routes.ts';
import { inviteRoutes } from './invites/routes.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { memberRoutes } from './members/routes.ts';
import { noticeDeliveryRoutes } from './notice_deliveries/routes.ts';
import { noticeTargetRoutes } from './notice_targets/routes.ts';
import { oauthApplicationRoutes } from './oauth_applications/routes.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { plannedEventRoutes } from './planned_events/routes.ts';
import { pluginConfigRoutes } from './plugin_configs/routes.ts';
import { pluginRoutes } from './plugins/routes.ts';
import { projectRoutes } from './projects/routes.ts';
import { queryRoutes } from './query/routes.ts';
import { retentionRoutes } from './retention/routes.ts';
import { scimRoutes } from './scim/routes.ts';
import { schemaColumnRoutes } from './schema_columns/routes.ts';
import { securityRoutes } from './security/routes.ts';
import { securityEventRoutes } from './security_events/routes.ts';
import { serviceKeyRoutes } from './service_keys/routes.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { singleSignOnRoutes } from './single_sign_on/routes.ts';
import { siteAppRoutes } from './site_apps/routes.ts';
import { writeKeyRoutes } from './write_keys/routes.ts';

/** All slices of the API, one line each. */
export const slices: ((app: FastifyInstance, deps: Deps) => void)[] = [
  organizationRoutes,
  memberRoutes,
  inviteRoutes,
  projectRoutes,
  batchExportRoutes,
  destinationRoutes,
  fileDownloadRoutes,
  icebergRoutes,
  lakeTableRoutes,
  noticeTargetRoutes,
  noticeDeliveryRoutes,
  queryRoutes,
  domainRoutes,
  securityRoutes,
  scimRoutes,
  erasureRoutes,
  eventRoutes,
  eventCatalogueRoutes,
  schemaColumnRoutes,
  captureRoutes,
  writeKeyRoutes,
  ingestionWarningRoutes,
  ingestionRuleRoutes,
  plannedEventRoutes,
  retentionRoutes,
  pluginRoutes,
  oauthApplicationRoutes,
  pluginConfigRoutes,
  siteAppRoutes,
  apiKeyRoutes,
  serviceKeyRoutes,
  activityRoutes,
  instanceRoutes,
  securityEventRoutes,
  configurationRoutes,
  sessionRoutes,
  accountRoutes,
  singleSignOnRoutes,
  mcpRoutes,
  consoleRoutes,
];
