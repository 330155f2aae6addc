import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import type { SessionRow } from '../sessions/schema.ts';
import { form } from './form.ts';
import { instant, instantText, section } from './section.ts';

/** The browsers in which the person is signed in, newest first, each with a button that ends it. */
export function sessionSection({ count, results }: { count: number; results: SessionRow[] }): Html {
  const more =
    count > results.length
      ? html`<p>The newest ${results.length} of ${count} are shown.</p>`
      : undefined;
  const endOthers = form({
    id: 'end_other_sessions',
    method: 'DELETE',
    action: '/api/sessions/',
    button: 'End all others',
    tone: 'danger',
  });
  return section(
    'sessions',
    'Sessions',
    html`<ul class="records">
        ${results.map(session)}
      </ul>
      ${more}${count > 1 ? endOthers : undefined}`,
  );
}

function session({
  id,
  method,
  ip,
  user_agent,
  created_at,
  last_used_at,
  is_current,
}: SessionRow): Html {
  const end = form({
    id: `end-${id}`,
    does: 'end_session',
    method: 'DELETE',
    action: `/api/sessions/${id}/`,
    button: 'End',
    about: `the session from ${ip}, begun ${instantText(created_at)}`,
    tone: 'danger',
  });
  return html`<li>
    <div>
      <p>${user_agent === '' ? 'An unnamed browser' : user_agent}</p>
      <p class="muted">
        From ${ip} by ${method}, begun ${instant(created_at)}, last used ${instant(last_used_at)}
      </p>
    </div>
    ${is_current ? html`<span class="mark">this browser</span>` : end}
  </li> `;
}
