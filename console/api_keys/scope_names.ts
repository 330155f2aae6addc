import type { Scope } from '../../server/platform/http/caller/scopes.ts';

/** Every scope of a key with its meaning; a new scope must be added here. */
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

/** Scopes for things that only people can do, so no service key gets them. */
const of_people: readonly string[] = [
  'organization_member:write',
  'organization_security:write',
  'user:read',
  'user:write',
  '*',
] satisfies (Scope | '*')[];

/** The scopes as choices of a form. */
export const scope_choices = Object.entries(scope_names).map(([value, label]) => ({
  value,
  label: `${value}: ${label}`,
}));

/** Returns some of the scopes as choices of a form, only in words. */
export function choicesInWords(scopes: readonly string[]): { value: string; label: string }[] {
  return Object.entries(scope_names)
    .filter(([value]) => scopes.includes(value))
    .map(([value, name]) => ({ value, label: name.charAt(0).toUpperCase() + name.slice(1) }));
}

/** The scopes of service keys, as choices of a form. */
export const service_scope_choices = scope_choices.filter(
  ({ value }) => !of_people.includes(value),
);

/** Returns the scopes of a key in words, with a word for all scopes. */
export function scopesInWords(scopes: string[], everything: string = scope_names['*']): string {
  return scopes.map((scope) => (scope === '*' ? everything : scope)).join(', ');
}
