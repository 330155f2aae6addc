import type { ApiKeyRow } from '../../server/api/api_keys/schema.ts';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';

type Known = Pick<OrganizationRow, 'id' | 'name'> & { teams: { id: number; name: string }[] };
type Limits = Pick<ApiKeyRow, 'scoped_organizations' | 'scoped_teams' | 'allowed_ip_ranges'>;

/** Returns where a key works, in words: projects, organizations and IP ranges. */
export function whereItWorks(
  { scoped_organizations, scoped_teams, allowed_ip_ranges }: Limits,
  organizations: Known[],
): string {
  const projects = organizations.flatMap(({ teams }) => teams);
  const limits = [
    ...named('project', scoped_teams, projects),
    ...named('organization', scoped_organizations, organizations),
    ...(allowed_ip_ranges.length === 0 ? [] : [`from ${allowed_ip_ranges.join(', ')}`]),
  ];
  return limits.length === 0 ? 'everywhere' : limits.join(', and only ');
}

function named<Id>(noun: string, ids: Id[], known: { id: Id; name: string }[]): string[] {
  if (ids.length === 0) return [];
  const names = ids.map((id) => known.find((one) => one.id === id)?.name);
  const found = names.filter((name) => name !== undefined);
  // Deleted, left, or closed because there is no second factor.
  const unseen = names.length - found.length;
  const all = [...found, ...(unseen === 0 ? [] : [`${unseen} that you cannot see`])];
  return [`in ${noun}${names.length === 1 ? '' : 's'} ${all.join(', ')}`];
}

/** Returns the projects as choices of a form, with their organizations if there are several. */
export function projectChoices(organizations: Known[]): { value: string; label: string }[] {
  return organizations.flatMap(({ name: organization, teams }) =>
    teams.map(({ id, name }) => ({
      value: String(id),
      label: organizations.length > 1 ? `${name} (${organization})` : name,
    })),
  );
}
