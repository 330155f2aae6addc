import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import type { Mail } from '../../platform/mail/mail.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { InviteWithLink } from './schema.ts';
import type { StoredInvite } from './store.ts';

/**
 * The address at which the invite is accepted. Every member sees ids; the id alone opens nothing,
 * the token of 256 bits does, until a new sending replaces its nonce.
 */
export function linkOf(
  { config, secrets }: { config: { public_url: string }; secrets: Secrets },
  invite: StoredInvite,
): string {
  return `${config.public_url}/invite/${invite.record.id}?token=${tokenOf(secrets, invite)}`;
}

/** The parts that decide whether a mail brings the link. */
type LinkDeps = Parameters<typeof linkOf>[0] & { mail: Pick<Mail, 'is_configured'> };

/**
 * Returns the invite for its sender. If a mail brings the link, only administrators see it: another
 * member could otherwise create a colleague's account with it, and wait there for them.
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
 * The answer to whoever created an invite or sent it again. With `validate_only` the link opens
 * nothing, so none is shown.
 */
export function shownToSender(
  request: FastifyRequest,
  deps: LinkDeps,
  invite: StoredInvite,
): InviteWithLink {
  return isValidateOnly(request) ? { ...invite.record } : withLink(request, deps, invite);
}

/** True for the token of the invite's present link; compares in constant time. */
export function isToken(secrets: Secrets, invite: StoredInvite, token: string): boolean {
  const wanted = Buffer.from(tokenOf(secrets, invite));
  const shown = Buffer.from(token);
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}

function tokenOf(secrets: Secrets, { record, token_nonce }: StoredInvite): string {
  return secrets.hash(`invite:${record.id}:${token_nonce}`).toString('base64url');
}
