import type { Level, MemberRow } from '../../server/api/members/schema.ts';
import type { Values } from '../form/values.ts';

/** The name of a level with its article. */
export const level_names: Record<Level, string> = {
  1: 'a member',
  8: 'an administrator',
  15: 'an owner',
};

/** The names of people with the level or a higher one. */
export const level_plurals = { 8: 'administrators', 15: 'owners' } as const;

const levels = [
  { value: 1, label: 'Member' },
  { value: 8, label: 'Administrator' },
  { value: 15, label: 'Owner' },
] as const satisfies { value: Level; label: string }[];

/** Returns the level in one word. */
export function levelWord(level: number): string {
  return levels.find(({ value }) => value === level)?.label ?? String(level);
}

/** Returns the chosen level. */
export function levelOf(chosen: Values[string] | undefined): Level {
  return Number(chosen) as Level;
}

/** Returns the levels that a person may give: every level up to their own. */
export function levelChoices(own: Level): { value: string; label: string }[] {
  return levels
    .filter(({ value }) => value <= own)
    .map(({ value, label }) => ({ value: String(value), label }));
}

/** Returns the name of a person, or their address without one. */
export function nameOf({ first_name, last_name, email }: MemberRow['user']): string {
  const name = `${first_name} ${last_name}`.trim();
  return name === '' ? email : name;
}
