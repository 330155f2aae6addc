import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import type { Mail } from '../../platform/mail/mail.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { InviteWithLink } from './schema.ts';
import type { StoredInvite } from './store.ts';

/**
 * Returns the address at which the invite is accepted. Every member can see ids, so the link also
 * needs a token of 256 bits, until a new sending replaces its nonce.
 */
export function linkOf(
  { config, secrets }: { config: { public_url: string }; secrets: Secrets },
  invite: StoredInvite,
): string {
  return `${config.public_url}/invite/${invite.record.id}?token=${tokenOf(secrets, invite)}`;
}

/** The parts that decide whether the link is mailed. */
type LinkDeps = Parameters<typeof linkOf>[0] & { mail: Pick<Mail, 'is_configured'> };

/**
 * Returns the invite for its sender. If the link is mailed, only administrators see it: another
 * member could use it to create the invited person's account.
 */
export function withLink(
  { access }: FastifyRequest,
  deps: LinkDeps,
  invite: StoredInvite,
): InviteWithLink {
  const seesLink = access.level >= 8 || !deps.mail.is_configured;
  return { ...invite.record, ...(seesLink ? { link: linkOf(deps, invite) } : {}) };
}

/**
 * Returns the answer to the creator or sender of an invite. With `validate_only` the link is
 * invalid, so the answer omits it.
 */
export function shownToSender(
  request: FastifyRequest,
  deps: LinkDeps,
  invite: StoredInvite,
): InviteWithLink {
  return isValidateOnly(request) ? { ...invite.record } : withLink(request, deps, invite);
}

/** Returns true for the token of the invite's current link; compares in constant time. */
export function isToken(secrets: Secrets, invite: StoredInvite, token: string): boolean {
  const wanted = Buffer.from(tokenOf(secrets, invite));
  const shown = Buffer.from(token);
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}

function tokenOf(secrets: Secrets, { record, token_nonce }: StoredInvite): string {
  return secrets.hash(`invite:${record.id}:${token_nonce}`).toString('base64url');
}
