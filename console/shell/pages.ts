import {
  IconActivity,
  IconBell,
  IconBuilding,
  IconDatabaseExport,
  IconPlug,
  IconSearch,
  IconSettings,
  IconTimeline,
  IconUsers,
  IconWorld,
} from '@tabler/icons-react';

/** The pages of a project in the navigation, one line each. */
export const project_pages = [
  { label: 'Exports', to: '/projects/$project_id/exports', icon: IconDatabaseExport },
  { label: 'Events', to: '/projects/$project_id/events', icon: IconActivity },
  { label: 'Find a record', to: '/projects/$project_id/find', icon: IconSearch },
  { label: 'Notices', to: '/projects/$project_id/notices', icon: IconBell },
  { label: 'Plugins', to: '/projects/$project_id/plugins', icon: IconPlug },
  { label: 'Project settings', to: '/projects/$project_id/settings', icon: IconSettings },
] as const;

/** The pages of an organization in the navigation, one line each. */
export const organization_pages = [
  { label: 'Members', to: '/organizations/$organization_id/members', icon: IconUsers },
  { label: 'Domains', to: '/organizations/$organization_id/domains', icon: IconWorld },
  { label: 'Activity', to: '/organizations/$organization_id/activity', icon: IconTimeline },
  { label: 'Settings', to: '/organizations/$organization_id/settings', icon: IconBuilding },
] as const;
