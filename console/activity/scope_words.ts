/** The console's words for the scopes of an organization's log. */
export const organization_scopes: Record<string, string> = {
  batch_export: 'Export',
  bulk_action: 'Bulk action',
  configuration: 'Configuration',
  domain: 'Domain',
  erasure: 'Erasure',
  file_download: 'Download',
  ingestion_rule: 'Ingestion rule',
  invite: 'Invite',
  lake_namespace: 'Namespace of the lake',
  lake_table: 'Table of the lake',
  member: 'Member',
  notice_delivery: 'Notice',
  notice_target: 'Target of notices',
  connection: 'Connection',
  oauth_application: 'OAuth application',
  organization: 'Organization',
  organization_security: 'Security of the organization',
  pipeline_destination: 'Plugin (destination)',
  pipeline_frontend_app: 'Plugin (frontend app)',
  pipeline_import_app: 'Plugin (import app)',
  plugin_config: 'Settings of a plugin',
  planned_event: 'Event of the tracking plan',
  project: 'Project',
  schema_column: 'Typed column',
  scim: 'Directory',
  scim_group: 'Group of a directory',
  scim_token: 'Token of a directory',
  service_key: 'Service key',
  setup_link: 'Setup link',
  user: 'Sign-in link of a member',
  write_key: 'Write key',
};

/** The words for scopes that only a person's own log has. */
export const own_scopes: Record<string, string> = {
  passkey: 'Passkey',
  personal_api_key: 'API key',
  session: 'Session',
  user: 'Account',
};

/** Returns the words for a scope; the API's word if there are none. */
export function scopeWords(scope: string): string {
  return organization_scopes[scope] ?? own_scopes[scope] ?? scope;
}
