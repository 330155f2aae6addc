import { Link } from '@tanstack/react-router';
import '../batch_exports/one_export.css';

const base = '/projects/$project_id/event_catalogue';
const tabs = [
  { label: 'Events', to: base },
  { label: 'Properties', to: `${base}/properties` },
  { label: 'Schema', to: `${base}/schema` },
] as const;

/** Links between the parts of the catalogue. */
export function CatalogueTabs({ project_id }: { project_id: string }) {
  return (
    <nav aria-label="Event catalogue" className="tabs">
      {tabs.map(({ label, to }) => (
        <Link
          key={to}
          to={to}
          params={{ project_id }}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
