import type { FastifyInstance } from 'fastify';
import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import type { Page } from '../../platform/http/pages/page.ts';
import { form, newPasswordField } from './form.ts';
import { page_route } from './page_route.ts';
import { scripts } from './scripts.ts';

type WithToken = { Params: { token: string } };

/**
 * The pages behind the links of mails, `/reset-password/:token` and `/verify-email/:token`. Opening
 * one does nothing, because programs that look for viruses open links too; its button does. Without
 * the token, which the script takes out of the address, they say where to find it.
 */
export function linkPages(app: FastifyInstance): void {
  app.get<WithToken>('/reset-password/:token', page_route, (request, reply) =>
    sendPage(reply, 200, resetPage(request.params.token)),
  );
  app.get('/reset-password', page_route, (_request, reply) =>
    sendPage(reply, 200, withoutToken('Choose a new password', newResetLink)),
  );
  app.get<WithToken>('/verify-email/:token', page_route, (request, reply) =>
    sendPage(reply, 200, verifyPage(request.params.token)),
  );
  app.get('/verify-email', page_route, (_request, reply) =>
    sendPage(reply, 200, withoutToken('Confirm your e-mail address', newVerificationLink)),
  );
}

const newResetLink = html`<p>
  Does the link no longer work? <a href="/forgot-password">Ask for a new one.</a>
</p>`;
const newVerificationLink = html`<p>
  Does the link no longer work? Sign in and have a new one sent from
  <a href="/account">your account</a>.
</p>`;

function resetPage(token: string): Page {
  return {
    title: 'Choose a new password',
    body: html`<p>This signs you out everywhere. A second factor stays as it is.</p>
      ${form({
        id: 'link',
        action: '/api/users/reset_password/confirm/',
        hidden: { token },
        fields: [newPasswordField('link', 'password', 'New password')],
        button: 'Save the password',
      })}
      <div class="panel" id="done" tabindex="-1" hidden>
        <p>The password of <bdi data-text="email"></bdi> was changed.</p>
        <p><a href="/login">Sign in</a></p>
      </div>
      ${newResetLink}`,
    script: scripts.link,
  };
}

function verifyPage(token: string): Page {
  const confirm = form({
    id: 'link',
    action: '/api/users/verify_email/',
    hidden: { token },
    button: 'Confirm the address',
  });
  return {
    title: 'Confirm your e-mail address',
    body: html`${confirm}
      <div class="panel" id="done" tabindex="-1" hidden>
        <p>Thank you: <bdi data-text="email"></bdi> is confirmed.</p>
        <p><a href="/account">To your account</a></p>
      </div>
      ${newVerificationLink}`,
    script: scripts.link,
  };
}

function withoutToken(title: string, advice: Html): Page {
  return {
    title,
    body: html`<p>Open the link of the mail again: it works until it was used or has expired.</p>
      ${advice}`,
  };
}
