import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { Chain } from '../../platform/activity/chain.ts';
import { isoInstant } from '../../platform/clock.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { forbidden, invalid } from '../../platform/http/errors.ts';
import { countMail } from '../../platform/http/caller/sign_in_throttle.ts';
import { actorOf, write } from '../../platform/http/write.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import { withPlainDomain } from '../../platform/mail/mailbox.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVerifiedDomain } from '../domains/store.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { accountChanges, accountEntry } from './activity.ts';
import { changeEmail, refuseTaken } from './change_email.ts';
import { confirmPerson, holdConfirmed } from './confirm_person.ts';
import { listHomes, lockHomes } from './delete_user.ts';
import { findLeaving, leave } from './leave_domain.ts';
import { deleteLinks, createLink, useLink } from './links.ts';
import { addressChangeMail, verificationMail } from './mails.ts';
import { Account, GivenToken, LinkedEmail } from '../users/schema.ts';
import { findAccount, findIdentityById } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { EmailChange } from './schema.ts';

/**
 * Routes for the address of an account: change it, request a link that verifies it, open that link.
 * Verifying an address takes both the account and the mail.
 */
export function emailRoutes(app: FastifyInstance, deps: Deps): void {
  changeRoute(app, deps);
  sendRoute(app, deps);
  verifyRoute(app, deps);
}

function changeRoute(app: FastifyInstance, deps: Deps): void {
  const { clock, mail, outbox } = deps;
  addRoute(app, {
    method: 'POST',
    url: '/api/users/@me/email/',
    config: { scope: 'user:write', session: true, own_account: true },
    summary: 'Change your e-mail address',
    description:
      'The address takes effect when you open the link in its mail. Until then it is ' +
      '`pending_email`; send your present address to cancel. A server without mail applies ' +
      'it at once, unverified, unless an organization has proved its domain. An address ' +
      'outside of a domain that enforces single sign-on ends your membership of its ' +
      'organization, unless an owner has exempted you; 409 while you are its only owner.',
    operationId: 'users_me_email_create',
    body: EmailChange.any,
    response: { 200: Account },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(deps, request, EmailChange);
      const email = withPlainDomain(confirmed.given.email);
      const isPresent = (user: Identity) => email === withPlainDomain(user.email);
      if (mail.is_configured && !isPresent(confirmed.user))
        await countMail(request, 'mail', confirmed.user.address);
      return write(request, reply, 200, async (tx, record, afterwards) => {
        if (!mail.is_configured) await lockHomes(tx, confirmed.user.id);
        const user = await holdConfirmed(tx, confirmed.user);
        await refuseDeactivated(tx, user.id, 'change your address');
        const now = isoInstant(clock.now());
        const before = await findAccount(tx, request.caller, now);
        if (isPresent(user)) await deleteLinks(tx, user.id, 'verify_email');
        else if (mail.is_configured) {
          await refuseTaken(tx, user.id, email);
          const leaving = await findLeaving(tx, deps, user, email);
          const link = await createLink(tx, deps, 'verify_email', user.id, email);
          await outbox.post({ tx, afterwards }, [
            { message: verificationMail(email, link.url, true, leaving), link },
            { message: addressChangeMail(user.email, email, leaving) },
          ]);
        } else {
          await refuseProvedDomain(tx, deps, email);
          await moveAddress(deps, { tx, afterwards }, request, user, email, false);
        }
        const after = await findAccount(tx, request.caller, now);
        afterwards(confirmed.succeeded);
        record({
          ...accountEntry('updated', user, accountChanges(before, after)),
          also: before?.email === after?.email ? [] : await chainsOf(tx, user.id),
        });
        return after;
      });
    },
  });
}

/**
 * Sets the address of the account. If the old address was in a domain that enforces single sign-on,
 * the person leaves its organization. The caller holds the locks on the person and their
 * organizations.
 */
async function moveAddress(
  deps: Deps,
  written: { tx: Transaction; afterwards: Afterwards },
  request: FastifyRequest,
  user: Identity,
  email: string,
  is_proved: boolean,
): Promise<void> {
  const leaving = await findLeaving(written.tx, deps, user, email);
  await changeEmail(written.tx, user.id, email, is_proved, is_proved ? null : 'email');
  if (leaving !== undefined) await leave(deps, written, actorOf(request, undefined), user, leaving);
}

/** Returns the chains of organizations that know the person by their address. */
async function chainsOf(tx: Transaction, user_id: number): Promise<Chain[]> {
  return (await listHomes(tx, user_id)).map((organization_id) => ({ organization_id }));
}

/**
 * Throws 400 for an address that single sign-on could give to somebody else, who would then enter
 * this account.
 */
async function refuseProvedDomain(tx: Transaction, deps: Deps, email: string): Promise<void> {
  const domain = await findVerifiedDomain(tx, deps.config, email);
  if (domain === undefined) return;
  const detail =
    `An organization has proved ${domain.domain}, and this server sends no mail to verify the ` +
    'address. Sign in with single sign-on, or ask the operator to set SLUICE_SMTP_URL.';
  throw invalid('email', 'verification_required', detail);
}

function sendRoute(app: FastifyInstance, deps: Deps): void {
  const { clock, db, mail, outbox } = deps;
  addRoute(app, {
    method: 'POST',
    url: '/api/users/@me/verify_email/',
    config: { scope: 'user:write', own_account: true },
    summary: 'Mail a new link that verifies your address, or your future address',
    operationId: 'users_me_verify_email_create',
    body: NoFields,
    response: { 202: LinkedEmail },
    handler: async (request, reply) => {
      body(request, NoFields);
      if (!mail.is_configured)
        throw invalid(
          null,
          'feature_not_available',
          'This server sends no mail, so addresses stay unverified: its operator can set ' +
            'SLUICE_SMTP_URL.',
        );
      const user = await findIdentityById(db, personOf(request).user_id);
      if (user !== undefined) await countMail(request, 'mail', user.address);
      return write(request, reply, 202, async (tx, record, afterwards) => {
        await refuseDeactivated(tx, request.caller.user_id, 'mail a link');
        const account = await findAccount(tx, request.caller, isoInstant(clock.now()), 'lock');
        const email =
          account?.pending_email ??
          (account?.is_email_verified === false ? account.email : undefined);
        if (account === undefined || email === undefined)
          throw invalid(null, 'already_verified', 'The address is verified already.');
        const link = await createLink(tx, deps, 'verify_email', account.id, email);
        const message = verificationMail(email, link.url, email !== account.email);
        await outbox.post({ tx, afterwards }, [{ message, link }]);
        record(accountEntry('requested_verification', account, []));
        return { email };
      });
    },
  });
}

function verifyRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: '/api/users/verify_email/',
    config: { scope: 'user:write', own_account: true },
    summary: 'Verify an address with the token of the mailed link',
    description:
      'Only the account of the link may call this (otherwise 403). So the reader of the ' +
      'mail must own the account. 400 `expired`: the link was used, is older than 3 ' +
      'days, or was replaced by a newer one.',
    body: GivenToken,
    response: { 200: LinkedEmail },
    work: async ({ request, tx, record, afterwards }) => {
      const { token } = body(request, GivenToken);
      await lockHomes(tx, personOf(request).user_id);
      const { user, email } = await useLink(tx, deps, 'verify_email', token);
      // Otherwise, a person who opens a stranger's link would verify the stranger's account.
      if (user.id !== request.caller.user_id)
        throw forbidden(
          'This link belongs to another account: sign in with the account that requested ' +
            'it, and open the link again. If you did not request a link, ignore it.',
        );
      // Otherwise they could leave the domain that deactivated them.
      await refuseDeactivated(tx, user.id, 'prove an address');
      // A CHECK of the table ensures that a link of this purpose has an address.
      const proved = email!;
      await moveAddress(deps, { tx, afterwards }, request, user, proved, true);
      const also = proved === user.email ? [] : await chainsOf(tx, user.id);
      const changes = [
        ...(proved === user.email
          ? []
          : [{ field: 'email', action: 'changed' as const, before: user.email, after: proved }]),
        {
          field: 'is_email_verified',
          action: 'changed' as const,
          before: user.is_email_verified,
          after: true,
        },
      ];
      record({ ...accountEntry('verified_email', user, changes), also });
      return { email: proved };
    },
  });
}
