import type { Level } from '../../server/api/members/schema.ts';

/** What a member of the level is, with its article. */
export const level_names: Record<Level, string> = {
  1: 'a member',
  8: 'an administrator',
  15: 'an owner',
};
