const objects = {
  organization: ['read', 'write'],
  organization_member: ['read', 'write'],
  organization_security: ['write'],
  batch_export: ['read', 'write'],
  plugin: ['read', 'write'],
  project: ['read', 'write'],
  user: ['read', 'write'],
  activity_log: ['read'],
  event: ['write'],
  lake: ['read', 'write'],
} as const;

type Objects = typeof objects;

/** One right of a key, such as `batch_export:read`. */
export type Scope = { [Name in keyof Objects]: `${Name}:${Objects[Name][number]}` }[keyof Objects];

/** Every scope. The list is closed; `*` stands for all of them. */
export const all_scopes = Object.entries(objects).flatMap(([name, actions]) =>
  actions.map((action) => `${name}:${action}`),
) as Scope[];

/** Returns the scopes that satisfy a requirement: itself, `*`, and the write scope for a read. */
export function satisfying(scope: Scope): ReadonlySet<string> {
  const accepted = new Set<string>([scope, '*']);
  if (scope.endsWith(':read')) accepted.add(scope.replace(/read$/, 'write'));
  return accepted;
}

/** Returns true for a scope of the closed list and for `*`. */
export function isScope(text: string): boolean {
  return text === '*' || (all_scopes as string[]).includes(text);
}
