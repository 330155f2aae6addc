/** The features of this server in `available_product_features`. A new feature adds an entry. */
export const available_product_features = [
  { key: 'organizations_projects', name: 'Several projects' },
  { key: 'data_pipelines', name: 'Batch exports' },
  { key: 'organization_invites', name: 'Invites by mail or link' },
  { key: '2fa_enforcement', name: 'Second factor for all members' },
  { key: 'personal_api_keys', name: 'Personal API keys' },
  { key: 'audit_logs', name: 'Activity log' },
  { key: 'automatic_provisioning', name: 'Verified domains' },
  { key: 'sso_enforcement', name: 'Enforced single sign-on' },
  { key: 'saml', name: 'SAML' },
] as const;
