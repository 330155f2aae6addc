import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import { configuredProviders } from '../../platform/openid_providers.ts';
import { askAccount } from './ask.ts';
import { codeStep, field, form } from './form.ts';
import { providerLink } from './other_ways.ts';
import { page_route } from './page_route.ts';
import { scripts } from './scripts.ts';

/** `/login`, where who is signed in is led on, and `/forgot-password`. */
export function loginPages(app: FastifyInstance, { config }: Deps): void {
  const providers = configuredProviders(config);
  const body = html`${form({
      id: 'login',
      action: '/api/sessions/',
      fields: [
        field('login', {
          name: 'email',
          label: 'E-mail address',
          type: 'email',
          autocomplete: 'username',
        }),
        field('login', {
          name: 'password',
          label: 'Password',
          type: 'password',
          autocomplete: 'current-password',
        }),
        codeStep('login'),
      ],
      button: 'Sign in',
    })}
    <p><a href="/forgot-password">Forgot your password?</a></p>
    <div class="ways">
      <button type="button" class="plain" id="saml" disabled>
        Continue with single sign-on<span class="unseen">
          of your organization: fill in your e-mail address</span
        >
      </button>
      ${providers.map((provider) => providerLink(provider))}
    </div>`;

  app.get('/login', page_route, async (request, reply) => {
    const account = await askAccount(request, reply);
    return account === undefined
      ? sendPage(reply, 200, { title: 'Sign in', body, script: scripts.login })
      : reply.redirect('/account', 303);
  });

  app.get('/forgot-password', page_route, (_request, reply) => sendPage(reply, 200, forgotten));
}

const forgotten = {
  title: 'Forgot your password?',
  body: html`<p>Choose a new one under a link that is mailed to you.</p>
    ${form({
      id: 'forgot',
      action: '/api/users/reset_password/',
      fields: [
        field('forgot', {
          name: 'email',
          label: 'E-mail address',
          type: 'email',
          autocomplete: 'username',
        }),
      ],
      button: 'Mail me a link',
    })}
    <div class="panel" id="done" tabindex="-1" hidden><p data-text="detail"></p></div>
    <p><a href="/login">Back to sign-in</a></p>`,
  script: scripts.forgot_password,
};
