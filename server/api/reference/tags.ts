import type { ApiReference } from '../../platform/http/openapi/reference.ts';

/**
 * The tags of all operations, in the order in which a newcomer needs them. A tag is the noun in the
 * path; test/house/reference.test.ts finds a missing one.
 */
const texts: Record<string, Record<string, string>> = {
  'Organizations and projects': {
    organizations: 'A customer: its people, projects, domains and plugins.',
    projects: 'A product of an organization. Events belong to a project, and so do batch exports.',
    members: 'The people in an organization and their levels: 1 member, 8 administrator, 15 owner.',
    invites:
      'Invite people to an organization, and accept an invite. An invite expires after three days.',
    activity: 'The log of changes by people and keys. Each entry is chained to the one before.',
  },
  Exports: {
    batch_exports:
      'Delivers events, persons or their distinct ids to a destination, on a schedule. ' +
      'The same exports are served under their organization and under their project.',
    runs: 'One delivery of one interval, with its log and its signed receipt.',
    backfills:
      'Runs over a time range that you choose. Start one with the `backfill/` of an export.',
    deviations: 'Findings of scheduled verification: accept them, or repair the delivery.',
    verifications:
      'Compare the deliveries of an export with the current data at the destination, and ' +
      'repair differences.',
    bulk_actions: 'Retry or cancel many runs, or pause many exports, by a filter.',
    overview: 'Every export at a glance: up to date, late or failing.',
    connections: 'A stored credential that many exports use: test it once, rotate it once.',
    aws_role: 'The values for the trust policy of your AWS role, so that Sluice may assume it.',
    destinations: 'The types of destinations, each with the JSON Schema of its config.',
    query: 'Check a query of an export, and list the query language.',
  },
  Notices: {
    notice_targets:
      'Addresses and webhooks that Sluice tells when an export fails, pauses or recovers.',
    notice_deliveries: 'Notices to targets, and the answers.',
  },
  'Events and their data': {
    events: 'Send events with a personal API key, and list the newest ones.',
    event_catalogue: 'The ingested events and properties, their numbers and types.',
    schema_columns: 'Properties that are columns of exports, each with one type, and proposals.',
    write_keys: 'Public keys that send events to a project and can do nothing else.',
    ingestion_warnings: 'Events that were refused or changed at ingestion.',
    ingestion_rules:
      'Drop, hash, rename or set properties before an event is stored, and count each change.',
    planned_events: 'The events that a project expects, with their properties and types.',
    refused_events: 'Events that were refused, with their bytes: correct them and send them again.',
    retention: "Rows that a project's retention keeps, and rows that it would remove.",
    file_downloads: 'One-time downloads of a range of rows: requested, counted, fetched in parts.',
    lake_tables: 'Iceberg tables that exports and other writers fill: rows, files, snapshots.',
    erasures: 'Remove persons, or the events that a filter matches, with a signed certificate.',
    capture: 'The paths for SDKs of several makers, in their own protocols.',
  },
  Plugins: {
    pipeline_destinations: 'Plugins that receive each event of a project.',
    pipeline_frontend_apps: 'Plugins with a script for your own site.',
    pipeline_import_apps: 'Plugins that fetch events on a schedule.',
    oauth_applications: 'Your OAuth applications at the vendors of tools.',
    plugin_configs: 'A plugin in a project: its settings, logs, metrics and jobs.',
    site_apps: 'The scripts of frontend apps that your site loads.',
  },
  'Accounts and sign-in': {
    personal_api_keys:
      'Keys that programs sign in with. The answer that creates a key shows it once.',
    service_keys:
      'Keys of an organization that belong to no person: they keep working after the person ' +
      'who created them has left.',
    users: 'Your name, address, password, second factor and passkeys.',
    sessions: 'Sign in with a password or a passkey, and sign browsers out.',
    single_sign_on: 'Sign in through the provider of your organization.',
    domains: 'Prove that a domain is yours. Single sign-on and directories (SCIM) need that.',
    setup_links:
      'Links with which somebody without an account sets up single sign-on for one domain.',
    security: "Rules for how an organization's members sign in, and its security events.",
  },
  'Configuration and agents': {
    instance: 'The name of the server, and its features.',
    configuration: 'Plan and apply the configuration of an organization from files.',
    mcp: 'The Model Context Protocol, for programs that a model drives.',
  },
};

/** The tags whose name for people is not their own with spaces. */
const labels: Record<string, string> = {
  aws_role: 'Role of AWS',
  query: 'Query language',
  schema_columns: 'Schema',
  planned_events: 'Tracking plan',
  file_downloads: 'Downloads',
  lake_tables: 'Tables of the lake',
  capture: 'Events from SDKs',
  oauth_applications: 'OAuth applications',
  personal_api_keys: 'Personal API keys',
  users: 'Your account',
  single_sign_on: 'Single sign-on',
  security: 'Security of an organization',
  configuration: 'Configuration as code',
  mcp: 'Agents (MCP)',
};

/** The groups of tags, with their names for people. */
export const groups: ApiReference['groups'] = Object.entries(texts).map(([name, tags]) => ({
  name,
  tags: Object.entries(tags).map(([tag, description]) => ({
    name: tag,
    label: labels[tag] ?? `${tag.charAt(0).toUpperCase()}${tag.slice(1).replaceAll('_', ' ')}`,
    description,
  })),
}));
