import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NoSuch, Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';

/** Shows content that belongs to the project's organization, after that is known. */
export function InOrganization({
  project_id,
  children,
}: {
  project_id: string;
  children: (organization_id: string) => ReactNode;
}) {
  return (
    <Shown query={useQuery(projectOf(project_id))}>
      {({ organization }) => children(organization)}
    </Shown>
  );
}

/** Says that the plugin does not exist, with a link to the others. */
export function NoSuchPlugin({ project_id }: { project_id: string }) {
  return (
    <NoSuch noun="plugin">
      <Link to="/projects/$project_id/plugins" params={{ project_id }}>
        The plugins of this project
      </Link>
    </NoSuch>
  );
}
