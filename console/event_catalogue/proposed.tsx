import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { counted } from '../page/text/quantities.ts';
import { schemaProposals } from './schema_columns.ts';
import './catalogue.css';

/** Shows how many properties could be columns, with a link; nothing if there are none. */
export function Proposed({ project_id }: { project_id: string }) {
  const { data } = useQuery(schemaProposals(project_id));
  if (data === undefined || data.count === 0) return undefined;
  return (
    <div className="panel proposals">
      <p>
        <strong>{propertiesProposed(data.count)}.</strong> Frozen ones are columns of exports with
        typed columns.
      </p>
      <Link to="/projects/$project_id/event_catalogue/schema" params={{ project_id }}>
        Look at the types
      </Link>
    </div>
  );
}

/** Returns the number of proposals: `1 property proposed`, `14 properties proposed`. */
export function propertiesProposed(count: number): string {
  return `${counted(count, 'property')} proposed`;
}
