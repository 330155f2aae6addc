import type { Static } from 'typebox';
import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import type { Page } from '../../platform/http/pages/page.ts';
import type { ShownInvite } from '../invites/schema.ts';
import { level_names } from '../members/schema.ts';
import { codeStep, field, form, newPasswordField } from './form.ts';
import type { Providers } from './other_ways.ts';
import { providerLink } from './other_ways.ts';

type Invite = Static<typeof ShownInvite>;

/**
 * Who looks at which invite: `path` is the invite's in the API, `email` that of the account that is
 * signed in.
 */
export type Visit = {
  invite: Invite;
  path: string;
  token: string | undefined;
  email: string | undefined;
};

/** What stands where there is no such invite, or its token is wrong. */
export const unknownInvite: Page = {
  title: 'This invite is not open',
  body: html`<p>
      It was accepted or taken back, a newer mail took its place, or the link is not complete. Open
      the link of the latest mail again, or ask for a new invite.
    </p>
    <p>Have you just joined? Then the organization is in <a href="/account">your account</a>.</p>`,
};

/** What stands where the invite has expired. */
export function expiredInvite({ organization_name }: Invite): Page {
  return {
    title: 'This invite has expired',
    body: html`<p>
      It was sent more than 3 days ago, or who sent it may no longer invite you. Ask an
      administrator of <bdi>${organization_name}</bdi> to invite you again.
    </p>`,
  };
}

/**
 * The invite with one way in: join, when it is for the account that is signed in; sign out, when it
 * is for another; sign in and join; or sign up.
 */
export function openInvite(visit: Visit, providers: Providers): Page {
  const { invite, email } = visit;
  const wayIn =
    email === undefined
      ? signedOut(visit, providers)
      : isSame(email, invite.target_email)
        ? join(visit)
        : signOut(invite, email);
  return { title: `Join ${invite.organization_name}`, body: html`${introduction(invite)}${wayIn}` };
}

function introduction({ organization_name, invited_by, level, target_email }: Invite): Html {
  const inviter =
    invited_by === null ? html`You are invited` : html`<bdi>${invited_by}</bdi> invites you`;
  return html`<p>
    ${inviter} to join <strong><bdi>${organization_name}</bdi></strong> on Sluice as
    ${level === 1 ? 'a' : 'an'} ${level_names[level]}. The invite is for <bdi>${target_email}</bdi>.
  </p> `;
}

function join({ path, token }: Visit): Html {
  return form({ id: 'join', action: `${path}accept/`, hidden: tokenOf(token), button: 'Join' });
}

function signOut({ target_email }: Invite, email: string): Html {
  const button = form({
    id: 'sign_out',
    method: 'DELETE',
    action: '/api/sessions/@current/',
    button: 'Sign out',
  });
  return html`<p>
      You are signed in as <bdi>${email}</bdi>. Sign out to join as <bdi>${target_email}</bdi>.
    </p>
    ${button}`;
}

function signedOut(visit: Visit, { offered, is_enforced }: Providers): Html {
  const { invite } = visit;
  // By then the provider has proved the address, so the token need not travel along.
  const links = offered.map((provider) =>
    providerLink(provider, { email: invite.target_email, next: `/invite/${invite.id}` }),
  );
  if (is_enforced)
    return html`<p>The domain of this address asks for single sign-on.</p>
      ${links}`;
  const ways = links.length === 0 ? undefined : html`<div class="ways">${links}</div>`;
  return html`${invite.has_account ? signIn(visit) : signUp(visit)}${ways}`;
}

function signIn({ invite, path, token }: Visit): Html {
  return html`<p>There is an account with this address: sign in with it.</p>
    ${form({
      id: 'sign_in',
      action: '/api/sessions/',
      hidden: { ...tokenOf(token), accept: `${path}accept/` },
      fields: [
        field('sign_in', {
          name: 'email',
          label: 'E-mail address',
          type: 'email',
          value: invite.target_email,
          autocomplete: 'username',
          is_fixed: true,
        }),
        field('sign_in', {
          name: 'password',
          label: 'Password',
          type: 'password',
          autocomplete: 'current-password',
        }),
        codeStep('sign_in'),
      ],
      button: 'Sign in and join',
    })}
    <p><a href="/forgot-password">Forgot your password?</a></p>`;
}

function signUp({ invite, path, token }: Visit): Html {
  return form({
    id: 'sign_up',
    action: `${path}accept/`,
    hidden: tokenOf(token),
    fields: [
      field('sign_up', {
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        value: invite.target_email,
        autocomplete: 'username',
        is_fixed: true,
      }),
      field('sign_up', {
        name: 'first_name',
        label: 'First name',
        value: invite.first_name,
        autocomplete: 'given-name',
      }),
      field('sign_up', { name: 'last_name', label: 'Last name', autocomplete: 'family-name' }),
      newPasswordField('sign_up', 'password', 'Password'),
    ],
    button: 'Sign up and join',
  });
}

function tokenOf(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { token };
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
