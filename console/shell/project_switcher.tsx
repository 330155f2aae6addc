import IconCheck from 'icon:check';
import IconSearch from 'icon:search';
import IconSelector from 'icon:selector';
import { useQuery } from '@tanstack/react-query';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { Menu, MenuAction, MenuLink } from '../page/menu.tsx';
import { organizations } from '../signed_in/organizations.ts';

/** More projects are found by the command palette. */
const listed_max = 8;

/** Shows the current organization and project, with links to the others. */
export function ProjectSwitcher({
  project_id,
  openPalette,
}: {
  project_id: string | undefined;
  openPalette: () => void;
}) {
  const { data } = useQuery(organizations);
  const all = data?.results ?? [];
  const home = all.find(({ teams }) => teams.some(({ id }) => String(id) === project_id));
  const project = home?.teams.find(({ id }) => String(id) === project_id);
  const { groups, left_out } = listed(all, home, project);
  return (
    <Menu
      renderButton={(opener) => (
        <button type="button" className="place switcher" {...opener}>
          <span>
            <bdi className="muted" title={home?.name}>
              {home?.name ?? 'Organization'}
            </bdi>
            <bdi title={project?.name}>
              {project?.name ?? (data === undefined ? '…' : 'Choose a project')}
            </bdi>
          </span>
          <IconSelector size={16} aria-hidden />
        </button>
      )}
    >
      {groups.map(({ id, name, teams }) => (
        <div key={id} role="group" aria-label={name} className="menu_group">
          <div className="menu_label">
            <bdi>{name}</bdi>
          </div>
          {teams.map((team) => (
            <MenuLink
              key={team.id}
              to="/projects/$project_id/exports"
              params={{ project_id: String(team.id) }}
              mark={String(team.id) === project_id && <IconCheck size={14} aria-label="shown" />}
            >
              <bdi>{team.name}</bdi>
            </MenuLink>
          ))}
        </div>
      ))}
      {left_out > 0 && (
        <div role="group" aria-label="More" className="menu_group">
          <MenuAction icon={<IconSearch size={14} aria-hidden />} act={openPalette}>
            Search {left_out.toLocaleString('en')} more projects
          </MenuAction>
        </div>
      )}
    </Menu>
  );
}

/** Returns the first projects, with the current one and its organization first. */
function listed(
  all: OrganizationRow[],
  home: OrganizationRow | undefined,
  project: OrganizationRow['teams'][number] | undefined,
) {
  const ordered = all.toSorted((one, two) => Number(two === home) - Number(one === home));
  const projects = ordered.flatMap(({ teams }) => teams);
  const others = projects.filter((one) => one !== project);
  const first = [...(project === undefined ? [] : [project]), ...others].slice(0, listed_max);
  const groups = ordered
    .map(({ id, name, teams }) => ({ id, name, teams: teams.filter((one) => first.includes(one)) }))
    .filter(({ teams }) => teams.length > 0);
  return { groups, left_out: projects.length - first.length };
}
