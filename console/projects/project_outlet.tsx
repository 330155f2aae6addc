import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Around } from '../page/around_pages.tsx';
import { NoSuch } from '../page/shown.tsx';
import { ZoneContext } from '../time/instant.tsx';
import { projectOf } from './project.ts';
import { rememberProject } from '../signed_in/remembered_project.ts';

/**
 * The frame of a project's pages, rendered after it was read; it sets the time zone of instants.
 */
export function ProjectOutlet() {
  const { project_id } = useParams({ from: '/signed_in/projects/$project_id' });
  const project = useQuery(projectOf(project_id));
  const id = project.data?.id;
  useEffect(() => {
    if (id !== undefined) rememberProject(id);
  }, [id]);
  const missing = (
    <NoSuch noun="project">
      <Link to="/">Go to the start page</Link>
    </NoSuch>
  );
  return (
    <Around title="Project" query={project} missing={missing}>
      {({ timezone }) => (
        <ZoneContext value={timezone}>
          <Outlet />
        </ZoneContext>
      )}
    </Around>
  );
}
