import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import type { ApiKeyRow } from '../api_keys/schema.ts';
import type { SessionRow } from '../sessions/schema.ts';
import { apiKeySection } from './api_key_section.ts';
import { ask, askAccount } from './ask.ts';
import { form } from './form.ts';
import { page_route } from './page_route.ts';
import {
  emailSection,
  organizationSection,
  passwordSection,
  profileSection,
} from './profile_sections.ts';
import { scripts } from './scripts.ts';
import { secondFactorSection } from './second_factor_section.ts';
import { sessionSection } from './session_section.ts';

type List<Row> = { count: number; results: Row[] };

/**
 * `/account`: what is a person's own, for the browser in which they are signed in; others are led
 * to `/login`.
 */
export function accountPage(app: FastifyInstance, { mail }: Deps): void {
  app.get('/account', page_route, async (request, reply) => {
    const account = await askAccount(request, reply);
    const sessions =
      account === undefined
        ? undefined
        : await ask<List<SessionRow>>(request, reply, '/api/sessions/', 401);
    const keys =
      account === undefined
        ? undefined
        : await ask<List<ApiKeyRow>>(request, reply, '/api/personal_api_keys/?limit=1000', 401);
    if (account === undefined || sessions === undefined || keys === undefined)
      return reply.redirect('/login', 303);
    const signOut = form({
      id: 'sign_out',
      method: 'DELETE',
      action: '/api/sessions/@current/',
      button: 'Sign out',
      tone: 'plain',
    });
    const body = html`<p>You are signed in as <bdi>${account.email}</bdi>.</p>
      ${signOut} ${organizationSection(account)} ${profileSection(account)}
      ${emailSection(account, mail.is_configured)} ${passwordSection(account)}
      ${secondFactorSection(account)} ${sessionSection(sessions)} ${apiKeySection(keys)}`;
    return sendPage(reply, 200, { title: 'Your account', body, script: scripts.account });
  });
}
