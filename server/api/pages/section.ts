import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';

/**
 * A section of a page. The script renews the part with this id, which is `body`, and says under the
 * title what was done; `kept` stays.
 */
export function section(id: string, title: string, body: Html, kept?: Html): Html {
  return html`<section aria-labelledby="${id}-title">
    <h2 id="${id}-title" tabindex="-1">${title}</h2>
    <div class="news" role="status"></div>
    ${kept}
    <div id="${id}">${body}</div>
  </section> `;
}

/** Something that is done seldom: shown once its summary is pressed. */
export function seldom(summary: string, body: Html): Html {
  return html`<details>
    <summary>${summary}</summary>
    ${body}
  </details> `;
}

const readable = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** An instant (ISO 8601) for people, in UTC. */
export function instant(iso: string): Html {
  return html`<time datetime="${iso}">${instantText(iso)}</time>`;
}

/** The same as plain text. */
export function instantText(iso: string): string {
  return `${readable.format(Date.parse(iso))} UTC`;
}
