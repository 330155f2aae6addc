import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import type { AccountRow } from '../users/schema.ts';
import { codeField, currentPassword, field, form } from './form.ts';
import { section, seldom } from './section.ts';

const url = '/api/users/@me/totp/';

/**
 * The second factor: set it up, or have new recovery codes and remove it. Seed and codes are put in
 * by the script, once.
 */
export function secondFactorSection(account: AccountRow): Html {
  return section(
    'second_factor',
    'Second factor',
    account.is_2fa_enabled ? setUp(account) : notSetUp(account),
    recoveryCodes,
  );
}

const recoveryCodes = html`<div class="panel" id="recovery_codes" tabindex="-1" hidden>
  <h3>Your recovery codes</h3>
  <p>
    Each signs in once in place of a code of your app. They are not shown again: keep them where you
    keep passwords.
  </p>
  <ol class="codes" id="codes"></ol>
  <button type="button" class="plain" data-copies="codes" disabled>Copy the codes</button>
</div>`;

function notSetUp(account: AccountRow): Html {
  const begin = form({
    id: 'begin_totp',
    action: url,
    fields: currentPassword('begin_totp', account),
    button: 'Set up a second factor',
  });
  return html`<p>
      Off. With one, signing in with your password also takes a code of an authenticator app, so the
      password alone opens nothing.
    </p>
    ${begin}
    <div class="panel" id="totp_setup" tabindex="-1" hidden>
      <h3>Add Sluice to your authenticator app</h3>
      <p>
        On the device that has the app: <a id="otpauth">open the app</a>. Or choose to enter a key
        there, and type this one:
      </p>
      <p><code data-text="secret"></code></p>
      ${form({
        id: 'confirm_totp',
        action: `${url}confirm/`,
        fields: [
          field('confirm_totp', {
            name: 'code',
            label: 'The six digits that the app shows',
            autocomplete: 'one-time-code',
            inputmode: 'numeric',
          }),
        ],
        button: 'Switch it on',
      })}
    </div>`;
}

function setUp(account: AccountRow): Html {
  const { recovery_codes_left: left } = account;
  const newCodes = form({
    id: 'new_codes',
    action: '/api/users/@me/recovery_codes/',
    fields: [...currentPassword('new_codes', account), codeField('new_codes', 'Code')],
    button: 'Make new codes',
  });
  const remove = form({
    id: 'remove_totp',
    method: 'DELETE',
    action: url,
    fields: [...currentPassword('remove_totp', account), codeField('remove_totp', 'Code')],
    button: 'Remove the second factor',
    tone: 'danger',
  });
  return html`<p>On. You have ${left} recovery ${left === 1 ? 'code' : 'codes'} left.</p>
    ${seldom(
      'Make new recovery codes',
      html`<p>The codes that you have no longer work then.</p>
        ${newCodes}`,
    )}
    ${seldom(
      'Remove the second factor',
      html`<p>Organizations that ask for one are closed to you then.</p>
        ${remove}`,
    )}`;
}
