import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import { all_scopes } from '../../platform/http/caller/scopes.ts';
import type { ApiKeyRow } from '../api_keys/schema.ts';
import { field, form } from './form.ts';
import { instant, section, seldom } from './section.ts';

/**
 * The person's API keys, newest first, each with a button that revokes it, and a form that makes
 * one. The key itself is put in by the script, once.
 */
export function apiKeySection({ count, results }: { count: number; results: ApiKeyRow[] }): Html {
  const more =
    count > results.length
      ? html`<p>The newest ${results.length} of ${count} are shown.</p>`
      : undefined;
  const list =
    count === 0
      ? html`<p>You have no keys.</p>`
      : html`<ul class="records">
            ${results.map(apiKey)}
          </ul>
          ${more}`;
  return section('keys', 'Personal API keys', html`${list}${seldom('Make a key', create)}`, newKey);
}

const newKey = html`<div class="panel" id="new_key" tabindex="-1" hidden>
  <h3>Your key “<bdi data-text="label"></bdi>”</h3>
  <p id="new_key-value"><code data-text="value"></code></p>
  <p>It is not shown again: keep it where you keep passwords.</p>
  <button type="button" class="plain" data-copies="new_key-value" disabled>Copy the key</button>
</div>`;

const scopes = html`<fieldset aria-describedby="create_key-scopes-fault">
  <legend>What may be done with it</legend>
  <div class="choices">
    ${[...all_scopes, '*'].map(
      (scope) =>
        html`<label class="choice"
          ><input type="checkbox" name="scopes" value="${scope}" />
          ${scope === '*' ? 'everything that you may (*)' : scope}</label
        > `,
    )}
  </div>
  <p class="fault" id="create_key-scopes-fault" data-fault="scopes"></p>
</fieldset> `;

const expiry = html`<div class="field">
  <label for="create_key-expires_at">How long it works</label>
  <select
    id="create_key-expires_at"
    name="expires_at"
    aria-describedby="create_key-expires_at-fault"
  >
    <option value="30">30 days</option>
    <option value="90" selected>90 days</option>
    <option value="365">a year</option>
    <option value="">until it is revoked</option>
  </select>
  <p class="fault" id="create_key-expires_at-fault" data-fault="expires_at"></p>
</div> `;

const create = form({
  id: 'create_key',
  action: '/api/personal_api_keys/',
  fields: [
    field('create_key', { name: 'label', label: 'What it is for', autocomplete: 'off' }),
    scopes,
    expiry,
  ],
  button: 'Make the key',
});

function apiKey({
  id,
  label,
  mask_value,
  scopes: allowed,
  expires_at,
  last_used_at,
  created_at,
}: ApiKeyRow): Html {
  const revoke = form({
    id: `revoke-${id}`,
    does: 'revoke_key',
    method: 'DELETE',
    action: `/api/personal_api_keys/${id}/`,
    button: 'Revoke',
    about: `the key ${label}`,
    tone: 'danger',
    confirm: `Revoke the key “${label}”? What uses it stops working at once.`,
  });
  const end =
    expires_at === null ? 'works until it is revoked' : html`works until ${instant(expires_at)}`;
  return html`<li>
    <div>
      <p><bdi>${label}</bdi> <code>${mask_value}</code></p>
      <p class="muted">${allowed.join(', ')}</p>
      <p class="muted">
        Made ${instant(created_at)}, ${end},
        ${last_used_at === null ? 'never used' : html`last used ${instant(last_used_at)}`}
      </p>
    </div>
    ${revoke}
  </li> `;
}
