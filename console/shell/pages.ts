import { IconActivity, IconDatabaseExport, IconSearch } from '@tabler/icons-react';

/** The pages of a project in the navigation, one line each. */
export const project_pages = [
  { label: 'Exports', to: '/projects/$project_id/exports', icon: IconDatabaseExport },
  { label: 'Events', to: '/projects/$project_id/events', icon: IconActivity },
  { label: 'Find a record', to: '/projects/$project_id/find', icon: IconSearch },
] as const;
