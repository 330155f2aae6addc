/** Organizations by their id, with their names. */
type Named = Record<string, string>;

const nameFor = (uuid: string) => `sluice_member_of ${uuid}`;

/** Returns the organizations that this tab has seen the person in. */
function seenWith(uuid: string): Named {
  return JSON.parse(sessionStorage.getItem(nameFor(uuid)) ?? '{}') as Named;
}

type Member = { uuid: string; organizations: readonly { id: string; name: string }[] };

/** Stores the organizations of the person. */
export function noteMemberships({ uuid, organizations }: Member): void {
  const present = Object.fromEntries(organizations.map(({ id, name }) => [id, name]));
  sessionStorage.setItem(nameFor(uuid), JSON.stringify({ ...seenWith(uuid), ...present }));
}

/** Returns the names of stored organizations that the person has left. */
export function lostMemberships({ uuid, organizations }: Member): string[] {
  return Object.entries(seenWith(uuid)).flatMap(([id, name]) =>
    organizations.some((one) => one.id === id) ? [] : [name],
  );
}

/** Deletes stored organizations of the person: the named ones, or all. */
export function forgetMemberships(uuid: string, ids?: readonly string[]): void {
  const kept = Object.entries(seenWith(uuid)).filter(
    ([id]) => ids !== undefined && !ids.includes(id),
  );
  sessionStorage.setItem(nameFor(uuid), JSON.stringify(Object.fromEntries(kept)));
}
