import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { conflict, invalid, notFound } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { countTry, forgiveTries } from '../../platform/http/caller/sign_in_throttle.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import { createTotpSecret, stepOfCode, totpUrl } from '../../platform/passwords/totp.ts';
import { noteSecondFactor } from '../sessions/store.ts';
import { accountEntry } from './activity.ts';
import { confirmPerson, holdConfirmed, requireFactor } from './confirm_person.ts';
import { refuseLastFactor } from './last_factor.ts';
import { noticeMail } from './mails.ts';
import { replaceRecoveryCodes } from '../users/recovery_codes/store.ts';
import { ConfirmationWithFactor, RecoveryCodes, TotpCode, TotpSecret } from './schema.ts';
import { findIdentityById, removeIdleCodes, removeTotp, totpSealContext } from '../users/store.ts';
import { confirmTotp, setTotpSecret } from './totp_seed.ts';

const url = '/api/users/@me/totp/';
const config = { scope: 'user:write', session: true, own_account: true, no_store: true } as const;

/**
 * Routes for an app's codes as the second factor of an account: begin and finish the setup, remove
 * them, new recovery codes.
 */
export function secondFactorRoutes(app: FastifyInstance, deps: Deps): void {
  beginRoute(app, deps);
  finishRoute(app, deps);
  removeRoute(app, deps);
  recoveryCodesRoute(app, deps);
}

function beginRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url,
    config,
    summary: 'Start to set up an authenticator app and return its seed',
    description:
      'The app becomes a second factor after you send one of its codes to ' +
      '`totp/confirm/`. Until then another call replaces the seed. Needs the password ' +
      'and, if you have a passkey, the passkey or a recovery code. 409 if an app is set ' +
      'up: remove it first.',
    operationId: 'users_me_totp_create',
    body: ConfirmationWithFactor.any,
    response: { 200: TotpSecret },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(
        deps,
        request,
        ConfirmationWithFactor,
        (user) => user.has_second_factor && !user.has_totp,
      );
      return countTry(request, confirmed.user.address, (held) =>
        write(request, reply, 200, async (tx, record, afterwards) => {
          const user = await holdConfirmed(tx, confirmed.user);
          if (user.has_totp) {
            held();
            throw conflict('A second factor is set up already: remove it first.');
          }
          await requireFactor(tx, deps, request, user, confirmed.given);
          held();
          const secret = createTotpSecret();
          await setTotpSecret(tx, user.id, deps.secrets.seal(secret, totpSealContext(user.id)));
          afterwards(confirmed.succeeded);
          record(
            accountEntry('began_second_factor', user, [secretChange('totp_secret', 'created')]),
          );
          if (isValidateOnly(request)) return {};
          return { secret, otpauth_url: totpUrl(secret, user.email) };
        }),
      );
    },
  });
}

function finishRoute(app: FastifyInstance, deps: Deps): void {
  const { secrets, clock } = deps;
  addWrite(app, {
    url: `${url}confirm/`,
    config,
    summary:
      'Finish setting up the second factor with a code of the app; gives the recovery ' +
      'codes, once, unless you have some for a passkey',
    operationId: 'users_me_totp_confirm_create',
    body: TotpCode,
    response: { 200: RecoveryCodes },
    work: async ({ request, tx, record, afterwards }) => {
      const user = await findIdentityById(tx, personOf(request).user_id, 'lock');
      const { code } = body(request, TotpCode);
      if (user === undefined || user.totp_secret === null)
        throw conflict('No second factor is being set up. Request its secret first.');
      if (user.has_totp) throw conflict('The second factor is set up already.');
      const now = clock.now();
      const step = stepOfCode(secrets.open(user.totp_secret, totpSealContext(user.id)), code, now);
      if (step === undefined)
        throw invalid(
          'code',
          'invalid_input',
          'This is not the current code of the app: check the clocks of both devices.',
        );
      await confirmTotp(tx, user.id, step, isoInstant(now));
      await noteSecondFactor(tx, request.caller.session_id, now);
      await deps.outbox.post({ tx, afterwards }, [
        { message: noticeMail(user.email, 'second_factor_set_up') },
      ]);
      record(
        accountEntry(
          'set_up_second_factor',
          user,
          changesOf(
            { is_2fa_enabled: user.has_second_factor, is_totp_enabled: false },
            { is_2fa_enabled: true, is_totp_enabled: true },
          ),
        ),
      );
      if (user.has_second_factor) return { recovery_codes: [] };
      const recovery_codes = await replaceRecoveryCodes(tx, secrets, user.id);
      return { recovery_codes: isValidateOnly(request) ? [] : recovery_codes };
    },
  });
}

function removeRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'DELETE',
    url,
    config,
    summary: 'Remove the app as a second factor; recovery codes go with the last one',
    description:
      'Takes the password and a code or passkey. 409 when it is your last second factor and ' +
      'an organization of yours enforces one; the answer names it.',
    operationId: 'users_me_totp_destroy',
    body: ConfirmationWithFactor.any,
    response: { 204: { type: 'null' }, 404: Problem, 409: Problem, 415: Problem },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(deps, request, ConfirmationWithFactor, () => true);
      return countTry(request, confirmed.user.address, (held) =>
        write(request, reply, 204, async (tx, record, afterwards) => {
          const user = await holdConfirmed(tx, confirmed.user);
          if (!user.has_totp) {
            // There is no code to check.
            held();
            throw notFound();
          }
          await requireFactor(tx, deps, request, user, confirmed.given);
          held();
          const is_2fa_enabled = (await refuseLastFactor(tx, user, 'totp')) === 'others left';
          await removeTotp(tx, user.id);
          await removeIdleCodes(tx, user.id);
          afterwards(() => forgiveTries(request, user.address));
          const notice = is_2fa_enabled ? 'totp_removed' : 'second_factor_removed';
          await deps.outbox.post({ tx, afterwards }, [{ message: noticeMail(user.email, notice) }]);
          record(
            accountEntry(
              'removed_second_factor',
              user,
              changesOf(
                { is_2fa_enabled: true, is_totp_enabled: true },
                { is_2fa_enabled, is_totp_enabled: false },
              ),
            ),
          );
        }),
      );
    },
  });
}

function recoveryCodesRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/users/@me/recovery_codes/',
    config,
    summary: 'Create new recovery codes in place of those before; they are shown once',
    description: 'Takes the password and a code or passkey. 409 without a second factor.',
    operationId: 'users_me_recovery_codes_create',
    body: ConfirmationWithFactor.any,
    response: { 200: RecoveryCodes },
    handler: async (request, reply) => {
      const confirmed = await confirmPerson(deps, request, ConfirmationWithFactor, () => true);
      return countTry(request, confirmed.user.address, (held) =>
        write(request, reply, 200, async (tx, record, afterwards) => {
          const user = await holdConfirmed(tx, confirmed.user);
          if (!user.has_second_factor) {
            // There is no code to check.
            held();
            throw conflict('Recovery codes need a second factor: set one up first.');
          }
          await requireFactor(tx, deps, request, user, confirmed.given);
          held();
          const recovery_codes = await replaceRecoveryCodes(tx, deps.secrets, user.id);
          afterwards(() => forgiveTries(request, user.address));
          await deps.outbox.post({ tx, afterwards }, [
            { message: noticeMail(user.email, 'recovery_codes') },
          ]);
          record(
            accountEntry('replaced_recovery_codes', user, [
              secretChange('recovery_codes', 'changed'),
            ]),
          );
          return { recovery_codes: isValidateOnly(request) ? [] : recovery_codes };
        }),
      );
    },
  });
}
