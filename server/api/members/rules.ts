import { level_names } from '../../platform/http/caller/access.ts';
import { conflict, forbidden } from '../../platform/http/errors.ts';
import { requireLevel } from '../../platform/http/caller/guard.ts';
import type { Level, MemberRow } from './schema.ts';

/** The caller, with their level under the organization's lock. */
export type Asker = { user_uuid: string; level: Level };

/** Is the member the one who asks? */
export function isOneself(asker: Asker, member: MemberRow): boolean {
  return member.user.uuid === asker.user_uuid;
}

/**
 * Throws 403 where the asker may not give the member this level: nobody changes their own, and only
 * an owner makes or unmakes an owner. No level, or the one that the member has, is no change. An
 * owner is always left, because whoever unmakes one stays one themselves.
 */
export function refuseLevel(asker: Asker, member: MemberRow, level: Level | undefined): void {
  if (level === undefined || level === member.level) return;
  if (isOneself(asker, member))
    throw forbidden('Nobody can change their own level: ask another administrator or owner.');
  refuseAbove(asker, member.level, 'changes');
  refuseAbove(asker, level, 'makes');
}

/**
 * Throws 403 where the asker may not remove the member, and 409 when the member is the only owner.
 * Leaving is open to everybody else.
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
