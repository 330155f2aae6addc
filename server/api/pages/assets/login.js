import { askForCode, serveForms } from './form.js';

serveForms({ login: { done: () => location.replace('/account'), refused: askForCode } });

// A link and no form: the policy of the page lets forms lead to this server only, and this address leads on to the identity provider.
const saml = /** @type {HTMLButtonElement} */ (document.getElementById('saml'));
const email = /** @type {HTMLInputElement} */ (document.getElementById('login-email'));
const fault = /** @type {HTMLElement} */ (document.getElementById('login-email-fault'));
saml.addEventListener('click', () => {
  const isMissing = email.value.trim() === '';
  fault.textContent = isMissing ? 'Fill in your address: it says where you sign in.' : '';
  email.setAttribute('aria-invalid', String(isMissing));
  if (isMissing) email.focus();
  else location.assign(`/login/saml/?email=${encodeURIComponent(email.value.trim())}`);
});
