/** The console's words for the log's objects. */
export const scope_words: Record<string, string> = {
  batch_export: 'Export',
  bulk_action: 'Bulk action',
  domain: 'Domain',
  erasure: 'Erasure',
  invite: 'Invite',
  member: 'Member',
  notice_delivery: 'Notice',
  notice_target: 'Target of notices',
  connection: 'Connection',
  organization: 'Organization',
  organization_security: 'Security of the organization',
  passkey: 'Passkey',
  personal_api_key: 'API key',
  pipeline_destination: 'Plugin (destination)',
  pipeline_frontend_app: 'Plugin (frontend app)',
  pipeline_import_app: 'Plugin (import app)',
  plugin_config: 'Settings of a plugin',
  project: 'Project',
  scim: 'Directory',
  scim_group: 'Group of a directory',
  scim_token: 'Token of a directory',
  write_key: 'Write key',
};

/** The words for it; those of the API where there are no others. */
export function scopeWords(scope: string): string {
  return scope_words[scope] ?? scope;
}
