import { enable, serveForms, show } from './form.js';

/** @typedef {import('./form.js').Doing} Doing */

const days_ms = 86_400_000;
const signed_out = new Set(['authentication_failed', 'not_authenticated']);

/**
 * Puts the named parts of the page as they are now in place of those shown, and says what was done. Leads to the heading of the first, because the button that was pressed may be gone.
 *
 * @param {string} told
 * @param {string[]} parts
 */
async function renew(told, ...parts) {
  const response = await window.fetch('/account', { cache: 'no-store' }).catch(() => undefined);
  const isPage = response !== undefined && response.ok && !response.redirected;
  // The server's own page, in which everything is escaped; it is parsed and not run.
  const page = isPage
    ? new DOMParser().parseFromString(await response.text(), 'text/html')
    : undefined;
  for (const id of parts) {
    const [old, renewed] = [document.getElementById(id), page?.getElementById(id)];
    if (old === null || renewed === null || renewed === undefined) continue;
    enable(renewed);
    old.replaceWith(renewed);
  }
  for (const place of document.querySelectorAll('[role=status]')) place.textContent = '';
  const title = document.getElementById(`${parts[0]}-title`);
  title?.focus();
  tell(title, isPage ? told : `${told} Load the page again to see it as it is now.`);
}

/**
 * Says what was done in the section that the element is in.
 *
 * @param {Element | null} element
 * @param {string} told
 */
function tell(element, told) {
  const place = element?.closest('section')?.querySelector('[role=status]') ?? null;
  if (place !== null) place.textContent = told;
}

/**
 * @param {string} told
 * @param {string[]} parts
 * @returns {Doing}
 */
function renewing(told, ...parts) {
  return { done: () => renew(told, ...parts), refused: leaveWhenSignedOut };
}

/**
 * @param {import('./form.js').Answer} answer
 * @returns {boolean}
 */
function leaveWhenSignedOut({ errors }) {
  const isOut = signed_out.has(errors[0]?.code ?? '');
  if (isOut) location.replace('/login');
  return isOut;
}

/**
 * Shows recovery codes, which the API never gives again.
 *
 * @param {string} told
 * @returns {Doing}
 */
function showingCodes(told) {
  return {
    done: async ({ body }) => {
      await renew(told, 'second_factor', 'organizations');
      const list = /** @type {HTMLElement} */ (document.getElementById('codes'));
      list.replaceChildren(
        ...body.recovery_codes.map((/** @type {string} */ code) => {
          const item = document.createElement('li');
          item.append(Object.assign(document.createElement('code'), { textContent: code }));
          return item;
        }),
      );
      show('recovery_codes');
    },
    refused: leaveWhenSignedOut,
  };
}

serveForms({
  sign_out: { done: () => location.replace('/login'), refused: leaveWhenSignedOut },
  save_profile: renewing('Your name was saved.', 'profile'),
  verify_email: renewing('The link is on its way.', 'email'),
  change_email: renewing('Saved: see below your address.', 'email'),
  change_password: renewing(
    'Your password was changed, and your other sessions were ended.',
    'password',
    'sessions',
  ),
  begin_totp: {
    done: ({ body }, form) => {
      form.hidden = true;
      const link = /** @type {HTMLAnchorElement} */ (document.getElementById('otpauth'));
      if (body.otpauth_url.startsWith('otpauth:')) link.href = body.otpauth_url;
      show('totp_setup', { secret: body.secret.replaceAll(/.{4}(?=.)/g, '$& ') });
    },
    refused: leaveWhenSignedOut,
  },
  confirm_totp: showingCodes('Your second factor is set up.'),
  new_codes: showingCodes('You have new recovery codes; the ones before them no longer work.'),
  remove_totp: renewing('Your second factor was removed.', 'second_factor', 'organizations'),
  end_session: renewing('The session was ended.', 'sessions'),
  end_other_sessions: renewing('All your other sessions were ended.', 'sessions'),
  create_key: {
    body: ({ expires_at, ...values }) => ({
      ...values,
      expires_at:
        expires_at === ''
          ? null
          : new Date(Date.now() + Number(expires_at) * days_ms).toISOString(),
    }),
    done: async ({ body }) => {
      await renew('The key was made.', 'keys');
      show('new_key', { label: body.label, value: body.value });
    },
    refused: leaveWhenSignedOut,
  },
  revoke_key: renewing('The key was revoked.', 'keys'),
});

for (const button of document.querySelectorAll('button[data-copies]')) {
  const { copies = '' } = /** @type {HTMLElement} */ (button).dataset;
  // Browsers let pages copy over https and on this machine only.
  /** @type {HTMLElement} */ (button).hidden = navigator.clipboard === undefined;
  button.addEventListener('click', async () => {
    const text = [...document.querySelectorAll(`#${copies} code`)]
      .map((code) => code.textContent)
      .join('\n');
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    tell(
      button,
      isCopied ? 'Copied.' : 'The browser did not let it be copied: select the text instead.',
    );
  });
}
