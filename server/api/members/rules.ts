import { level_names } from '../../platform/http/caller/access.ts';
import { conflict, forbidden } from '../../platform/http/errors.ts';
import { requireLevel } from '../../platform/http/caller/guard.ts';
import type { Level, MemberRow } from './schema.ts';

/** The caller, with their level read under the organization's lock. */
export type Asker = { user_uuid: string; level: Level };

/** Returns true if the member is the caller. */
export function isOneself(asker: Asker, member: MemberRow): boolean {
  return member.user.uuid === asker.user_uuid;
}

/**
 * Throws 403 if the caller may not give the member this level: nobody changes their own, and only
 * an owner promotes or demotes an owner. An absent or equal level is no change. At least one owner
 * stays, because an owner who demotes another remains an owner.
 */
export function refuseLevel(asker: Asker, member: MemberRow, level: Level | undefined): void {
  if (level === undefined || level === member.level) return;
  if (isOneself(asker, member))
    throw forbidden('Nobody can change their own level: ask another administrator or owner.');
  refuseAbove(asker, member.level, 'changes');
  refuseAbove(asker, level, 'makes');
}

/**
 * Throws 403 if the caller may not remove the member, and 409 if the member is the only owner.
 * Everybody else may leave.
 */
export function refuseRemoval(asker: Asker, member: MemberRow, has_other_owner: boolean): void {
  if (!isOneself(asker, member)) {
    requireLevel(asker.level, 8);
    refuseAbove(asker, member.level, 'removes');
  } else if (member.level === 15 && !has_other_owner) {
    throw conflict(
      'You are the only owner of this organization: make another member an owner before you ' +
        'leave, or delete the organization.',
    );
  }
}

function refuseAbove(asker: Asker, level: Level, verb: 'changes' | 'makes' | 'removes'): void {
  if (level > asker.level)
    throw forbidden(
      `Only an ${level_names[level]} ${verb} an ${level_names[level]}; your level is ` +
        `${asker.level} (${level_names[asker.level]}).`,
    );
}
