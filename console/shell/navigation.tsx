import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Brand } from '../page/around/brand.tsx';
import { useHome } from '../signed_in/home.ts';
import { AccountMenu } from './account_menu.tsx';
import { attentionOf, stateCounts } from './attention.ts';
import { organization_pages, project_pages } from './pages.ts';
import { PaletteButton } from './palette/opener.tsx';
import { ProjectSwitcher } from './project_switcher.tsx';

/** The number of exports that need attention. */
function Attention({ project_id }: { project_id: string }) {
  const { data } = useQuery(stateCounts(project_id));
  const count = data === undefined ? 0 : attentionOf(data.counts);
  if (count === 0) return undefined;
  return (
    <span className="place_count">
      {count.toLocaleString('en')}
      <span className="unseen"> need attention</span>
    </span>
  );
}

/** The navigation: the project, its pages, and the person's own menu. */
export function Navigation({ openPalette }: { openPalette: () => void }) {
  const { project_id, organization_id } = useHome();
  return (
    <>
      <Brand />
      <ProjectSwitcher project_id={project_id} openPalette={openPalette} />
      <PaletteButton open={openPalette} />
      {project_id !== undefined && (
        <nav aria-label="Project">
          {project_pages.map(({ label, to, icon: Icon }) => (
            <Link key={to} className="place" to={to} params={{ project_id }}>
              <Icon size={17} stroke={1.6} aria-hidden />
              {label}
              {label === 'Exports' && <Attention project_id={project_id} />}
            </Link>
          ))}
        </nav>
      )}
      {organization_id !== undefined && (
        <nav aria-label="Organization">
          <p className="nav_title">Organization</p>
          {organization_pages.map(({ label, to, icon: Icon }) => (
            <Link key={to} className="place" to={to} params={{ organization_id }}>
              <Icon size={17} stroke={1.6} aria-hidden />
              {label}
            </Link>
          ))}
        </nav>
      )}
      <div className="side_end">
        <AccountMenu />
      </div>
    </>
  );
}
