import IconActivity from 'icon:activity';
import IconBell from 'icon:bell';
import IconBuilding from 'icon:building';
import IconDatabaseExport from 'icon:database-export';
import IconDownload from 'icon:download';
import IconEraser from 'icon:eraser';
import IconFileCode from 'icon:file-code';
import IconFilter from 'icon:filter';
import IconKey from 'icon:key';
import IconListCheck from 'icon:list-check';
import IconListDetails from 'icon:list-details';
import IconLock from 'icon:lock';
import IconPlug from 'icon:plug';
import IconSearch from 'icon:search';
import IconSettings from 'icon:settings';
import IconShieldLock from 'icon:shield-lock';
import IconTable from 'icon:table';
import IconTimeline from 'icon:timeline';
import IconUsers from 'icon:users';
import IconWorld from 'icon:world';

/** The pages of a project in the navigation; `also` lists search words for the palette. */
export const project_pages = [
  {
    label: 'Exports',
    also: ['backfill', 'repair', 'destinations'],
    to: '/projects/$project_id/exports',
    icon: IconDatabaseExport,
  },
  {
    label: 'Lake',
    also: ['Iceberg', 'tables', 'snapshots', 'DuckDB', 'Spark', 'catalog'],
    to: '/projects/$project_id/lake',
    icon: IconTable,
  },
  {
    label: 'Events',
    also: ['project key', 'SDK', 'capture'],
    to: '/projects/$project_id/events',
    icon: IconActivity,
  },
  {
    label: 'Event catalogue',
    also: ['properties', 'schema', 'types', 'typed columns', 'tracking plan'],
    to: '/projects/$project_id/event_catalogue',
    icon: IconListDetails,
  },
  {
    label: 'Ingestion rules',
    also: ['drop', 'hash', 'rename', 'filter', 'personal data', 'user agent'],
    to: '/projects/$project_id/ingestion_rules',
    icon: IconFilter,
  },
  {
    label: 'Tracking plan',
    also: ['schema', 'required properties', 'types', 'planned events'],
    to: '/projects/$project_id/tracking_plan',
    icon: IconListCheck,
  },
  {
    label: 'Find a record',
    also: ['uuid', 'distinct id', 'person'],
    to: '/projects/$project_id/find',
    icon: IconSearch,
  },
  {
    label: 'Downloads',
    also: ['CSV', 'Parquet', 'files', 'range'],
    to: '/projects/$project_id/downloads',
    icon: IconDownload,
  },
  {
    label: 'Notices',
    also: ['webhook', 'mail', 'alerts', 'Slack', 'Teams', 'PagerDuty'],
    to: '/projects/$project_id/notices',
    icon: IconBell,
  },
  {
    label: 'Tools and plugins',
    also: ['destinations', 'apps', 'webhook', 'Slack', 'HubSpot', 'Google Analytics', 'Segment'],
    to: '/projects/$project_id/plugins',
    icon: IconPlug,
  },
  {
    label: 'Erasures',
    also: ['delete a person', 'GDPR', 'privacy', 'certificate'],
    to: '/projects/$project_id/erasures',
    icon: IconEraser,
  },
  {
    label: 'Project settings',
    also: ['write keys', 'token', 'retention', 'time zone', 'robots'],
    to: '/projects/$project_id/settings',
    icon: IconSettings,
  },
] as const;

/** The pages of an organization in the navigation. */
export const organization_pages = [
  {
    label: 'Members',
    also: ['invite', 'people', 'users', 'levels'],
    to: '/organizations/$organization_id/members',
    icon: IconUsers,
  },
  {
    label: 'API keys',
    also: ['tokens', 'scopes', 'who has access', 'last used'],
    to: '/organizations/$organization_id/keys',
    icon: IconLock,
  },
  {
    label: 'Connections',
    also: ['credentials', 'passwords', 'roles', 'rotate'],
    to: '/organizations/$organization_id/connections',
    icon: IconKey,
  },
  {
    label: 'Domains',
    also: ['SSO', 'SAML', 'single sign-on', 'provider'],
    to: '/organizations/$organization_id/domains',
    icon: IconWorld,
  },
  {
    label: 'Security',
    also: ['single sign-on', 'SSO', 'session', 'IP ranges', 'second factor'],
    to: '/organizations/$organization_id/security',
    icon: IconShieldLock,
  },
  {
    label: 'Activity',
    also: ['audit log', 'changes'],
    to: '/organizations/$organization_id/activity',
    icon: IconTimeline,
  },
  {
    label: 'Configuration',
    also: ['as code', 'YAML', 'plan', 'apply', 'drift'],
    to: '/organizations/$organization_id/configuration',
    icon: IconFileCode,
  },
  { label: 'Settings', to: '/organizations/$organization_id/settings', icon: IconBuilding },
] as const;

/** The page of the signed-in person, which has its own menu. */
export const account_page = {
  label: 'Account',
  also: ['API keys', 'password', 'sessions', 'second factor', '2FA', 'mail address', 'sign-in'],
  to: '/account',
} as const;
