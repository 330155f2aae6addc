import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import { level_names } from '../members/schema.ts';
import type { AccountRow } from '../users/schema.ts';
import { currentPassword, field, form, newPasswordField } from './form.ts';
import { section, seldom } from './section.ts';

/** The organizations of the account, and which of them are closed to it. */
export function organizationSection({ organizations, is_2fa_enabled }: AccountRow): Html {
  const closed = html`<p class="fault">Closed to you until you set up a second factor, below.</p>`;
  const items = organizations.map(
    ({ name, membership_level, enforce_2fa }) =>
      html`<li>
        <div>
          <p><bdi>${name}</bdi></p>
          <p class="muted">
            You are ${membership_level === 1 ? 'a' : 'an'} ${level_names[membership_level]}.
          </p>
          ${enforce_2fa === true && !is_2fa_enabled ? closed : undefined}
        </div>
      </li> `,
  );
  const none = html`<p>You belong to no organization: open the link of an invite to join one.</p>`;
  return section(
    'organizations',
    'Organizations',
    items.length === 0
      ? none
      : html`<ul class="records">
          ${items}
        </ul>`,
  );
}

/** The name of the person. */
export function profileSection({ first_name, last_name }: AccountRow): Html {
  const body = form({
    id: 'save_profile',
    method: 'PATCH',
    action: '/api/users/@me/',
    fields: [
      field('save_profile', {
        name: 'first_name',
        label: 'First name',
        value: first_name,
        autocomplete: 'given-name',
      }),
      field('save_profile', {
        name: 'last_name',
        label: 'Last name',
        value: last_name,
        autocomplete: 'family-name',
      }),
    ],
    button: 'Save the name',
  });
  return section('profile', 'Name', body);
}

/** The address, whether it is confirmed, and its change. */
export function emailSection(account: AccountRow, is_mail_configured: boolean): Html {
  const { email, is_email_verified, pending_email } = account;
  const state = is_email_verified
    ? html`<span class="mark">confirmed</span>`
    : html`<span class="muted">(not confirmed)</span>`;
  const pending =
    pending_email === null
      ? undefined
      : html`<p>
          It becomes <bdi>${pending_email}</bdi> when the link that was mailed there is opened.
        </p>`;
  const button = pending === undefined ? 'Mail me a link to confirm it' : 'Mail the link again';
  const confirm = form({
    id: 'verify_email',
    action: '/api/users/@me/verify_email/',
    button,
    tone: 'plain',
  });
  const is_open = !is_email_verified || pending !== undefined;
  const change = form({
    id: 'change_email',
    action: '/api/users/@me/email/',
    fields: [
      field('change_email', {
        name: 'email',
        label: 'New e-mail address',
        type: 'email',
        autocomplete: 'email',
      }),
      ...currentPassword('change_email', account),
    ],
    button: 'Change the address',
  });
  const confirmation = is_open && is_mail_configured ? confirm : undefined;
  return section(
    'email',
    'E-mail address',
    html`<p><bdi>${email}</bdi> ${state}</p>
      ${pending}${confirmation}${seldom('Change your e-mail address', change)}`,
  );
}

/** The password and its change. */
export function passwordSection(account: AccountRow): Html {
  const change = form({
    id: 'change_password',
    action: '/api/users/@me/password/',
    fields: [
      ...currentPassword('change_password', account),
      newPasswordField('change_password', 'new_password', 'New password'),
    ],
    button: 'Save the password',
  });
  const title = account.has_password ? 'Change your password' : 'Choose a password';
  const state = account.has_password
    ? 'You can sign in with your address and a password.'
    : 'You have no password: you sign in through a provider.';
  const body = html`<p>${state}</p>
    ${seldom(
      title,
      html`<p>This ends all your other sessions.</p>
        ${change}`,
    )}`;
  return section('password', 'Password', body);
}
