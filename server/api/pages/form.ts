import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';

/**
 * One line to fill in. `name` is that of the API's field; what the API says about it is shown
 * beside it.
 */
export type Field = {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password';
  value?: string;
  hint?: string;
  /** What browsers and password managers may fill in, as HTML names it. */
  autocomplete: string;
  /** Shown and sent, but not changed. */
  is_fixed?: boolean;
  /** Left out of what is sent while it is empty. */
  is_optional?: boolean;
  /** The keyboard that phones show. */
  inputmode?: 'numeric';
};

/** A form that a script sends to the API as JSON. */
export type Form = {
  /** Unique on the page. */
  id: string;
  /**
   * What the page's script does with the answer; default: its id. Several forms may do the same.
   */
  does?: string;
  method?: 'POST' | 'PATCH' | 'DELETE';
  /** A path of the API. */
  action: string;
  /** Sent along as they are. */
  hidden?: Record<string, string>;
  fields?: Html[];
  button: string;
  /** What screen readers add to the button's text, where several are alike. */
  about?: string;
  tone?: 'plain' | 'danger';
  /** A question that has to be answered with yes first. */
  confirm?: string;
};

/**
 * The form's markup. Guarantees: nothing is sent before the script runs, because the button is
 * disabled until then, and never into an address, because the method is POST; faults have a place
 * that screen readers announce.
 */
export function form({
  id,
  does = id,
  method = 'POST',
  action,
  hidden = {},
  fields = [],
  button,
  about,
  tone,
  confirm,
}: Form): Html {
  const kept = Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  const question = confirm === undefined ? undefined : html` data-confirm="${confirm}"`;
  const more = about === undefined ? undefined : html`<span class="unseen"> ${about}</span>`;
  return html`<form
    id="${id}"
    method="post"
    action="${action}"
    data-does="${does}"
    data-method="${method}"
    ${question}
    novalidate
  >
    ${kept}${fields}
    <p class="fault" role="alert" tabindex="-1"></p>
    <button type="submit" ${tone === undefined ? undefined : html` class="${tone}"`} disabled>
      ${button}${more}
    </button>
  </form>`;
}

/**
 * The markup of a field in the form with this id: a label, the input, a hint, and the place for its
 * fault.
 */
export function field(form_id: string, one: Field): Html {
  const {
    name,
    label,
    type = 'text',
    value = '',
    hint,
    autocomplete,
    is_fixed = false,
    is_optional = false,
    inputmode,
  } = one;
  const id = `${form_id}-${name}`;
  const notes = hint === undefined ? `${id}-fault` : `${id}-hint ${id}-fault`;
  const fixed = is_fixed ? html` readonly` : undefined;
  const optional = is_optional ? html` data-optional` : undefined;
  const mode = inputmode === undefined ? undefined : html` inputmode="${inputmode}"`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${value}"
      autocomplete="${autocomplete}"
      aria-describedby="${notes}"
      spellcheck="false"
      autocapitalize="${type === 'text' && inputmode === undefined ? 'words' : 'none'}"
      ${fixed}${optional}${mode}
    />
    ${hint === undefined ? undefined : html`<p class="hint" id="${id}-hint">${hint}</p>`}
    <p class="fault" id="${id}-fault" data-fault="${name}"></p>
  </div> `;
}

/** A password that is chosen, with a box to look at it. */
export function newPasswordField(form_id: string, name: string, label: string): Html {
  const typed = field(form_id, {
    name,
    label,
    type: 'password',
    autocomplete: 'new-password',
    hint: '12 to 200 characters: several words that have nothing to do with each other are fine.',
  });
  return html`${typed}
    <label class="choice"
      ><input type="checkbox" data-shows="${form_id}-${name}" /> Show the password</label
    > `;
}

/** A code of the second factor, to be typed or filled in by a password manager. */
export function codeField(form_id: string, label: string): Html {
  const hint = 'Six digits of your authenticator app, or a recovery code.';
  return field(form_id, {
    name: 'code',
    label,
    hint,
    autocomplete: 'one-time-code',
    is_optional: true,
  });
}

/** The code as the second step of a sign-in: hidden until the API asks for it. */
export function codeStep(form_id: string): Html {
  return html`<div data-second-factor hidden>
    ${codeField(form_id, 'Code of your second factor')}
  </div>`;
}

/**
 * The present password, where the account has one, for what takes more than being signed in; tells
 * password managers whose it is.
 */
export function currentPassword(
  form_id: string,
  { email, has_password }: { email: string; has_password: boolean },
): Html[] {
  if (!has_password) return [];
  return [
    html`<input type="email" autocomplete="username" value="${email}" readonly hidden /> `,
    field(form_id, {
      name: 'current_password',
      label: 'Your present password',
      type: 'password',
      autocomplete: 'current-password',
    }),
  ];
}
