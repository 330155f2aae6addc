import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { rememberedProject } from './remembered_project.ts';
import { organizations } from './organizations.ts';

/**
 * Returns the person's current project: in the address, or else the last one, or else their first.
 * The project is undefined if the address has one that is not theirs.
 */
export function useHome(): { organization_id: string | undefined; project_id: string | undefined } {
  const named = useParams({ strict: false });
  const { data } = useQuery(organizations);
  const last = named.project_id ?? rememberedProject()?.toString();
  const all = data?.results ?? [];
  const isLast = ({ id }: { id: number }) => String(id) === last;
  const home =
    all.find(({ id, teams }) =>
      named.organization_id === undefined ? teams.some(isLast) : id === named.organization_id,
    ) ?? all.find(({ teams }) => teams.length > 0);
  // Until the list is loaded, the address or the browser's storage is trusted.
  if (data === undefined) return { organization_id: named.organization_id, project_id: last };
  const project = home?.teams.find(isLast);
  if (named.project_id !== undefined)
    return { organization_id: home?.id, project_id: project?.id.toString() };
  const organization_id = home?.id ?? all[0]?.id;
  return { organization_id, project_id: (project ?? home?.teams[0])?.id.toString() };
}
