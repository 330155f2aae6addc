import type { Scope } from '../../server/platform/http/caller/scopes.ts';

/** Every scope that a key can have, with what it opens; a new one has to be added here. */
const scope_names: Record<Scope | '*', string> = {
  'organization:read': 'see organizations',
  'organization:write': 'change organizations and domains',
  'organization_security:write': 'change who signs in, and as what',
  'organization_member:read': 'see members and invites',
  'organization_member:write': 'change members, invite',
  'batch_export:read': 'see exports and runs',
  'batch_export:write': 'change and run exports',
  'plugin:read': 'see plugins',
  'plugin:write': 'install and configure plugins',
  'project:read': 'see projects',
  'project:write': 'change projects',
  'user:read': 'see your account',
  'user:write': 'change your account',
  'activity_log:read': 'see the activity log',
  'event:write': 'send events',
  'lake:read': 'read tables of the lake',
  'lake:write': 'write tables of the lake',
  '*': 'all your rights',
};

/** Scopes of what only people can do, so no service key gets them. */
const of_people: readonly string[] = [
  'organization_member:write',
  'organization_security:write',
  'user:read',
  'user:write',
  '*',
] satisfies (Scope | '*')[];

/** The scopes as the choices of a form. */
export const scope_choices = Object.entries(scope_names).map(([value, label]) => ({
  value,
  label: `${value}: ${label}`,
}));

/** Some of the scopes as the choices of a form, in words alone. */
export function choicesInWords(scopes: readonly string[]): { value: string; label: string }[] {
  return Object.entries(scope_names)
    .filter(([value]) => scopes.includes(value))
    .map(([value, name]) => ({ value, label: name.charAt(0).toUpperCase() + name.slice(1) }));
}

/** The scopes that a service key can have, as the choices of a form. */
export const service_scope_choices = scope_choices.filter(
  ({ value }) => !of_people.includes(value),
);

/** Lists the scopes of a key, with a word for those that open everything. */
export function scopesInWords(scopes: string[], everything: string = scope_names['*']): string {
  return scopes.map((scope) => (scope === '*' ? everything : scope)).join(', ');
}
