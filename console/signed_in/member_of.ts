/** Organizations by their id, with their names. */
type Named = Record<string, string>;

const nameFor = (uuid: string) => `sluice_member_of ${uuid}`;

/** The organizations that this tab has seen the person in, and not forgotten. */
function seenWith(uuid: string): Named {
  return JSON.parse(sessionStorage.getItem(nameFor(uuid)) ?? '{}') as Named;
}

type Member = { uuid: string; organizations: readonly { id: string; name: string }[] };

/** Notes the organizations of the person. */
export function noteMemberships({ uuid, organizations }: Member): void {
  const present = Object.fromEntries(organizations.map(({ id, name }) => [id, name]));
  sessionStorage.setItem(nameFor(uuid), JSON.stringify({ ...seenWith(uuid), ...present }));
}

/** Returns the names of organizations that were noted, and that the person is no longer in. */
export function lostMemberships({ uuid, organizations }: Member): string[] {
  return Object.entries(seenWith(uuid)).flatMap(([id, name]) =>
    organizations.some((one) => one.id === id) ? [] : [name],
  );
}

/** Forgets organizations of the person: those that are named, or all. */
export function forgetMemberships(uuid: string, ids?: readonly string[]): void {
  const kept = Object.entries(seenWith(uuid)).filter(
    ([id]) => ids !== undefined && !ids.includes(id),
  );
  sessionStorage.setItem(nameFor(uuid), JSON.stringify(Object.fromEntries(kept)));
}
