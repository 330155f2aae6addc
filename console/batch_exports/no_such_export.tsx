import { Link } from '@tanstack/react-router';
import { NoSuch } from '../page/shown.tsx';

/** Says that an export does not exist, with a link to the others. */
export function NoSuchExport({ project_id }: { project_id: string }) {
  return (
    <NoSuch noun="export">
      <Link to="/projects/$project_id/exports" params={{ project_id }}>
        The exports of this project
      </Link>
    </NoSuch>
  );
}
