// Length: the texts of all tags of the reference.
import type { ApiReference } from '../../platform/http/openapi/reference.ts';

/**
 * The tags of all operations, in the order in which a newcomer needs them. A tag is the noun in the
 * path; test/house/reference.test.ts finds a missing one.
 */
export const groups: ApiReference['groups'] = [
  {
    name: 'Organizations and projects',
    tags: [
      {
        name: 'organizations',
        label: 'Organizations',
        description: 'A customer: its people, projects, domains and plugins.',
      },
      {
        name: 'projects',
        label: 'Projects',
        description:
          'A product of an organization. Events belong to a project, and so do batch exports.',
      },
      {
        name: 'members',
        label: 'Members',
        description:
          'The people in an organization and their levels: 1 member, 8 administrator, 15 owner.',
      },
      {
        name: 'invites',
        label: 'Invites',
        description:
          'Invite people to an organization, and accept an invite. An invite expires after ' +
          'three days.',
      },
      {
        name: 'activity',
        label: 'Activity',
        description:
          'The log of changes by people and keys. Each entry is chained to the one before.',
      },
    ],
  },
  {
    name: 'Exports',
    tags: [
      {
        name: 'batch_exports',
        label: 'Batch exports',
        description:
          'Delivers events, persons or their distinct ids to a destination, on a schedule. ' +
          'The same exports are served under their organization and under their project.',
      },
      {
        name: 'runs',
        label: 'Runs',
        description: 'One delivery of one interval, with its log and its signed receipt.',
      },
      {
        name: 'backfills',
        label: 'Backfills',
        description:
          'Runs over a time range that you choose. Start one with the `backfill/` of an export.',
      },
      {
        name: 'deviations',
        label: 'Deviations',
        description: 'Findings of scheduled verification: accept them, or repair the delivery.',
      },
      {
        name: 'verifications',
        label: 'Verifications',
        description:
          'Compare the deliveries of an export with the current data at the destination, and ' +
          'repair differences.',
      },
      {
        name: 'bulk_actions',
        label: 'Bulk actions',
        description: 'Retry or cancel many runs, or pause many exports, by a filter.',
      },
      {
        name: 'overview',
        label: 'Overview',
        description: 'Every export at a glance: up to date, late or failing.',
      },
      {
        name: 'connections',
        label: 'Connections',
        description: 'A stored credential that many exports use: test it once, rotate it once.',
      },
      {
        name: 'aws_role',
        label: 'Role of AWS',
        description:
          'The values for the trust policy of your AWS role, so that Sluice may assume it.',
      },
      {
        name: 'destinations',
        label: 'Destinations',
        description: 'The types of destinations, each with the JSON Schema of its config.',
      },
      {
        name: 'query',
        label: 'Query language',
        description: 'Check a query of an export, and list the query language.',
      },
    ],
  },
  {
    name: 'Notices',
    tags: [
      {
        name: 'notice_targets',
        label: 'Notice targets',
        description:
          'Addresses and webhooks that Sluice tells when an export fails, pauses or recovers.',
      },
      {
        name: 'notice_deliveries',
        label: 'Notice deliveries',
        description: 'Notices to targets, and the answers.',
      },
    ],
  },
  {
    name: 'Events and their data',
    tags: [
      {
        name: 'events',
        label: 'Events',
        description: 'Send events with a personal API key, and list the newest ones.',
      },
      {
        name: 'event_catalogue',
        label: 'Event catalogue',
        description: 'The ingested events and properties, their numbers and types.',
      },
      {
        name: 'schema_columns',
        label: 'Schema',
        description: 'Properties that are columns of exports, each with one type, and proposals.',
      },
      {
        name: 'write_keys',
        label: 'Write keys',
        description: 'Public keys that send events to a project and can do nothing else.',
      },
      {
        name: 'ingestion_warnings',
        label: 'Ingestion warnings',
        description: 'Events that were refused or changed at ingestion.',
      },
      {
        name: 'ingestion_rules',
        label: 'Ingestion rules',
        description:
          'Drop, hash, rename or set properties before an event is stored, and count each change.',
      },
      {
        name: 'planned_events',
        label: 'Tracking plan',
        description: 'The events that a project expects, with their properties and types.',
      },
      {
        name: 'refused_events',
        label: 'Refused events',
        description:
          'Events that were refused, with their bytes: correct them and send them again.',
      },
      {
        name: 'retention',
        label: 'Retention',
        description: "Rows that a project's retention keeps, and rows that it would remove.",
      },
      {
        name: 'file_downloads',
        label: 'Downloads',
        description: 'One-time downloads of a range of rows: requested, counted, fetched in parts.',
      },
      {
        name: 'lake_tables',
        label: 'Tables of the lake',
        description: 'Iceberg tables that exports and other writers fill: rows, files, snapshots.',
      },
      {
        name: 'erasures',
        label: 'Erasures',
        description:
          'Remove persons, or the events that a filter matches, with a signed certificate.',
      },
      {
        name: 'capture',
        label: 'Events from SDKs',
        description: 'The paths for SDKs of several makers, in their own protocols.',
      },
    ],
  },
  {
    name: 'Plugins',
    tags: [
      {
        name: 'pipeline_destinations',
        label: 'Pipeline destinations',
        description: 'Plugins that receive each event of a project.',
      },
      {
        name: 'pipeline_frontend_apps',
        label: 'Pipeline frontend apps',
        description: 'Plugins with a script for your own site.',
      },
      {
        name: 'pipeline_import_apps',
        label: 'Pipeline import apps',
        description: 'Plugins that fetch events on a schedule.',
      },
      {
        name: 'oauth_applications',
        label: 'OAuth applications',
        description: 'Your OAuth applications at the vendors of tools.',
      },
      {
        name: 'plugin_configs',
        label: 'Plugin configs',
        description: 'A plugin in a project: its settings, logs, metrics and jobs.',
      },
      {
        name: 'site_apps',
        label: 'Site apps',
        description: 'The scripts of frontend apps that your site loads.',
      },
    ],
  },
  {
    name: 'Accounts and sign-in',
    tags: [
      {
        name: 'personal_api_keys',
        label: 'Personal API keys',
        description:
          'Keys that programs sign in with. The answer that creates a key shows it once.',
      },
      {
        name: 'service_keys',
        label: 'Service keys',
        description:
          'Keys of an organization that belong to no person: they keep working after the person ' +
          'who created them has left.',
      },
      {
        name: 'users',
        label: 'Your account',
        description: 'Your name, address, password, second factor and passkeys.',
      },
      {
        name: 'sessions',
        label: 'Sessions',
        description: 'Sign in with a password or a passkey, and sign browsers out.',
      },
      {
        name: 'single_sign_on',
        label: 'Single sign-on',
        description: 'Sign in through the provider of your organization.',
      },
      {
        name: 'domains',
        label: 'Domains',
        description:
          'Prove that a domain is yours. Single sign-on and directories (SCIM) need that.',
      },
      {
        name: 'setup_links',
        label: 'Setup links',
        description:
          'Links with which somebody without an account sets up single sign-on for one domain.',
      },
      {
        name: 'security',
        label: 'Security of an organization',
        description: "Rules for how an organization's members sign in, and its security events.",
      },
    ],
  },
  {
    name: 'Configuration and agents',
    tags: [
      {
        name: 'instance',
        label: 'Instance',
        description: 'The name of the server, and its features.',
      },
      {
        name: 'configuration',
        label: 'Configuration as code',
        description: 'Plan and apply the configuration of an organization from files.',
      },
      {
        name: 'mcp',
        label: 'Agents (MCP)',
        description: 'The Model Context Protocol, for programs that a model drives.',
      },
    ],
  },
];
