import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { invalid, missing } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { countMail, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute } from '../../platform/http/records.ts';
import { hashPassword } from '../../platform/passwords/password.ts';
import { newPasswordFault } from '../../platform/passwords/new_password.ts';
import { endSessions, endUnproved, replaceToken } from '../sessions/store.ts';
import { refuseEnforced } from '../domains/store.ts';
import { accountEntry } from './activity.ts';
import { confirmPerson, holdConfirmed } from './confirm_person.ts';
import { deleteLinks, readLink, useLink } from './links.ts';
import { noticeMail } from './mails.ts';
import { mailResetLink } from './mail_reset_link.ts';
import { LinkedEmail } from '../users/schema.ts';
import { actorOf, findIdentity, findIdentityById, updateUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { PasswordChange, PasswordReset, ResetRequest } from './schema.ts';

/**
 * Routes for the password of an account: change it, request a link to choose a new one (signed in
 * or not), choose it.
 */
export function passwordRoutes(app: FastifyInstance, deps: Deps): void {
  changeRoute(app, deps);
  requestRoute(app, deps);
  ownRequestRoute(app, deps);
  resetRoute(app, deps);
}

function changeRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/users/@me/password/',
    config: { scope: 'user:write', session: true, own_account: true },
    summary: 'Change your password, or choose the first one; ends all your other sessions',
    description:
      'This session continues with a new cookie. Earlier mailed links stop working. ' +
      'Personal API keys stay valid.',
    operationId: 'users_me_password_create',
    body: PasswordChange.any,
    response: { 204: { type: 'null' } },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(deps, request, PasswordChange);
      const { new_password } = confirmed.given;
      await refuseWeak('new_password', new_password, confirmed.user);
      const password_hash = await hashPassword(new_password);
      return write(request, reply, 204, async (tx, record, afterwards) => {
        const user = await holdConfirmed(tx, confirmed.user);
        const { session_id } = request.caller;
        await updateUser(tx, user.id, { password_hash });
        await deleteLinks(tx, user.id);
        await endSessions(tx, user.id, session_id);
        if (session_id !== null) await replaceToken(tx, { request, reply, afterwards }, session_id);
        afterwards(confirmed.succeeded);
        await deps.outbox.post({ tx, afterwards }, [
          { message: noticeMail(user.email, 'password') },
        ]);
        record(accountEntry('changed_password', user, [passwordChange(user)]));
      });
    },
  });
}

function requestRoute(app: FastifyInstance, deps: Deps): void {
  const { db, mail } = deps;
  const detail = mail.is_configured
    ? 'If an account has this address, it gets a mail with a link to choose a new password.'
    : 'This server sends no mail: ask its operator for a link (sluice user reset --email ' +
      '<address>).';
  addRoute(app, {
    method: 'POST',
    url: '/api/users/reset_password/',
    config: { scope: 'public' },
    summary: 'Mail a link to choose a new password',
    description:
      'The answer and its time are the same with and without an account. 400 ' +
      '`sso_enforced`: the domain of the address enforces single sign-on.',
    body: ResetRequest,
    response: {
      202: Type.Object({ detail: Type.String() }),
      200: Type.Object({ detail: Type.String() }),
      400: Problem,
      413: Problem,
      415: Problem,
      429: Problem,
      503: Problem,
    },
    handler: async (request, reply) => {
      const { email } = body(request, ResetRequest);
      await refuseEnforced(deps, email);
      const { address, user } = await findIdentity(db, email);
      await countMail(request, 'reset', address);
      return write(request, reply, 202, async (_tx, record, afterwards) => {
        record('nothing');
        // Not awaited, so that the answer takes the same time for an address with an account.
        if (user !== undefined && mail.is_configured)
          afterwards(async () => void mailResetLink(deps, user, request));
        return { detail };
      });
    },
  });
}

/**
 * A person of a provider needs a password or passkey for other organizations, even if their domain
 * allows no password. The link proves that they own the mailbox, which the provider cannot read.
 */
function ownRequestRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/users/@me/reset_password/',
    config: { scope: 'user:write', session: true },
    summary: 'Mail a link to your own address to choose a password',
    description:
      'You need a password to confirm a session that a provider opened. 400 ' +
      '`feature_not_available`: the server sends no mail.',
    operationId: 'users_me_reset_password_create',
    body: NoFields,
    response: { 202: LinkedEmail },
    handler: async (request, reply) => {
      body(request, NoFields);
      if (!deps.mail.is_configured)
        throw invalid(
          null,
          'feature_not_available',
          'This server sends no mail: ask its operator for a link (sluice user reset --email ' +
            '<address>).',
        );
      const user = (await findIdentityById(deps.db, personOf(request).user_id)) ?? missing();
      await countMail(request, 'reset', user.address);
      return write(request, reply, 202, async (_tx, record, afterwards) => {
        record('nothing');
        afterwards(async () => void mailResetLink(deps, user, request));
        return { email: user.email };
      });
    },
  });
}

function resetRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/users/reset_password/confirm/',
    config: { scope: 'public' },
    summary: 'Choose a new password with the token of a link; ends all sessions of the account',
    description:
      'Does not sign in. Keys and the second factor stay, unless the link verifies the ' +
      'address for the first time: then they are deleted. 400 `expired`: the link was ' +
      'used, is older than an hour, or was replaced by a newer one.',
    body: PasswordReset,
    response: { 200: LinkedEmail, 400: Problem, 413: Problem, 415: Problem, 503: Problem },
    handler: async (request, reply) => {
      const { token, password } = body(request, PasswordReset);
      await refuseWeak(
        'password',
        password,
        await readLink(deps.db, deps, 'reset_password', token),
      );
      const password_hash = await hashPassword(password);
      return write(request, reply, 200, async (tx, record, afterwards) => {
        const { user, email } = await useLink(tx, deps, 'reset_password', token);
        const proves = !user.is_email_verified && email === user.email;
        await updateUser(tx, user.id, {
          password_hash,
          ...(proves && { is_email_verified: true }),
        });
        const ended = proves ? await endUnproved(tx, user) : [];
        await deleteLinks(tx, user.id);
        await endSessions(tx, user.id, null);
        afterwards(() => forgiveTries(request, user.address));
        await deps.outbox.post({ tx, afterwards }, [
          { message: noticeMail(user.email, 'password') },
        ]);
        record({
          ...accountEntry('reset_password', user, [passwordChange(user), ...ended]),
          actor: actorOf(user),
        });
        return { email: user.email };
      });
    },
  });
}

async function refuseWeak(
  attr: string,
  password: string,
  { email, first_name, last_name }: Identity,
): Promise<void> {
  const fault = await newPasswordFault(password, [email, first_name, last_name]);
  if (fault !== undefined) throw invalid(attr, 'invalid_input', fault);
}

function passwordChange({ password_hash }: Identity): Change {
  return secretChange('password', password_hash === null ? 'created' : 'changed');
}
