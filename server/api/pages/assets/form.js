// What the scripts of all pages share: forms go to the API as JSON, and what it says comes back beside the fields.

/** @typedef {{ attr: string | null, code: string, detail: string }} Violation */
/** @typedef {{ status: number, body: any, errors: Violation[] }} Answer `errors` is empty when it was done. */
/** @typedef {Record<string, string | string[]>} Values */
/**
 * What a form does. `body` makes what is sent of the form's values; `done` gets the answer, and may give errors after all; `refused` is true when it dealt with the errors itself.
 *
 * @typedef {{
 *   body?: (values: Values) => unknown,
 *   done: (answer: Answer, form: HTMLFormElement, values: Values) => Violation[] | void | Promise<Violation[] | void>,
 *   refused?: (answer: Answer, form: HTMLFormElement) => boolean,
 * }} Doing
 */

/**
 * Asks the API. Never throws: what is no answer of the API becomes an error that says what to do.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [sent]
 * @returns {Promise<Answer>}
 */
export async function ask(method, path, sent) {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const response = await window
    .fetch(path, { method, headers, body: JSON.stringify(sent) ?? null, cache: 'no-store' })
    .catch(() => undefined);
  if (response === undefined)
    return failed(0, 'The server cannot be reached: check your connection, then try again.');
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  const body = isJson ? await response.json().catch(() => undefined) : undefined;
  if (response.ok) return { status: response.status, body, errors: [] };
  return Array.isArray(body?.errors)
    ? { status: response.status, body, errors: body.errors }
    : failed(
        response.status,
        `The server answered with the status ${response.status}: try again in a minute.`,
      );
}

/**
 * Serves the forms of the page, also those that come later: each by what its `data-does` names. While a form waits its button is disabled.
 *
 * @param {Record<string, Doing>} doings
 */
export function serveForms(doings) {
  document.addEventListener('submit', (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const doing = doings[form.dataset.does ?? ''];
    if (doing === undefined) return;
    event.preventDefault();
    if (form.dataset.confirm === undefined || window.confirm(form.dataset.confirm))
      void submit(form, doing);
  });
  document.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement && target.dataset.shows !== undefined)
      field(target.dataset.shows).type = target.checked ? 'text' : 'password';
  });
  enable(document);
}

/**
 * Lets the buttons below the node be pressed, which the server sends disabled.
 *
 * @param {ParentNode} node
 */
export function enable(node) {
  for (const button of node.querySelectorAll('button')) button.disabled = false;
}

/**
 * Shows a part of the page that was hidden, with texts put where `data-text` names them, and leads readers to it.
 *
 * @param {string} id
 * @param {Record<string, string>} [texts]
 */
export function show(id, texts = {}) {
  const part = /** @type {HTMLElement} */ (document.getElementById(id));
  for (const place of part.querySelectorAll('[data-text]'))
    place.textContent = texts[/** @type {HTMLElement} */ (place).dataset.text ?? ''] ?? '';
  part.hidden = false;
  part.focus();
}

/**
 * Asks for the code of the second factor when that is what a sign-in lacks.
 *
 * @param {Answer} answer
 * @param {HTMLFormElement} form
 * @returns {boolean}
 */
export function askForCode({ errors }, form) {
  /** @type {HTMLElement | null} */
  const part = form.querySelector('[data-second-factor]');
  if (part === null || errors[0]?.code !== 'second_factor_required') return false;
  const place = /** @type {HTMLElement} */ (part.querySelector('[data-fault]'));
  place.textContent = part.hidden ? '' : 'Fill in the code.';
  part.hidden = false;
  field(`${form.id}-code`).focus();
  return true;
}

/**
 * @param {HTMLFormElement} form
 * @param {Doing} doing
 */
async function submit(form, { body, done, refused }) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector('button[type=submit]'));
  if (button.disabled) return;
  showErrors(form, []);
  button.disabled = true;
  form.setAttribute('aria-busy', 'true');
  const values = valuesOf(form);
  const answer = await ask(
    form.dataset.method ?? 'POST',
    form.getAttribute('action') ?? '',
    body === undefined ? values : body(values),
  );
  const errors = answer.errors.length > 0 ? answer.errors : await done(answer, form, values);
  button.disabled = false;
  form.removeAttribute('aria-busy');
  if (errors !== undefined && !refused?.(answer, form)) showErrors(form, errors);
}

/**
 * What was filled in. Fields that may be left out are when they are empty; boxes of one name are a list.
 *
 * @param {HTMLFormElement} form
 * @returns {Values}
 */
function valuesOf(form) {
  /** @type {Values} */
  const values = {};
  for (const input of form.querySelectorAll('input[name], select[name]')) {
    const { name, value, dataset } = /** @type {HTMLInputElement | HTMLSelectElement} */ (input);
    if (input instanceof HTMLInputElement && input.type === 'checkbox')
      values[name] = checkedOf(form, name);
    else if (value !== '' || dataset.optional === undefined) values[name] = value;
  }
  return values;
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 * @returns {string[]}
 */
function checkedOf(form, name) {
  return [...document.getElementsByName(name)].flatMap((box) =>
    box instanceof HTMLInputElement && box.checked && form.contains(box) ? [box.value] : [],
  );
}

/**
 * Puts each error beside the field that it names, and what names none in front of the button; leads to the first field.
 *
 * @param {HTMLFormElement} form
 * @param {Violation[]} errors
 */
function showErrors(form, errors) {
  const whole = /** @type {HTMLElement} */ (form.querySelector('[role=alert]'));
  for (const place of form.querySelectorAll('.fault')) place.textContent = '';
  for (const input of form.querySelectorAll('[aria-invalid]'))
    input.removeAttribute('aria-invalid');
  for (const { attr, detail } of errors) {
    const name = attr?.split('__')[0] ?? '';
    const place =
      [...form.querySelectorAll('[data-fault]')].find(
        (one) => /** @type {HTMLElement} */ (one).dataset.fault === name,
      ) ?? whole;
    place.append(...(place.textContent === '' ? [] : [' ']), ...linked(detail));
    if (place !== whole)
      for (const input of document.getElementsByName(name))
        if (form.contains(input)) input.setAttribute('aria-invalid', 'true');
  }
  if (errors.length === 0) return;
  /** @type {HTMLElement | null} */
  const first = form.querySelector('[aria-invalid=true]');
  (first ?? whole).focus();
}

/**
 * The sentence with the addresses of this server in it as links.
 *
 * @param {string} detail
 * @returns {(string | HTMLAnchorElement)[]}
 */
function linked(detail) {
  const parts = detail.split(/(https?:\/\/\S+)/);
  return parts.map((part) =>
    part.startsWith(`${location.origin}/`)
      ? Object.assign(document.createElement('a'), { href: part, textContent: part })
      : part,
  );
}

/**
 * @param {string} id
 * @returns {HTMLInputElement}
 */
function field(id) {
  return /** @type {HTMLInputElement} */ (document.getElementById(id));
}

/**
 * @param {number} status
 * @param {string} detail
 * @returns {Answer}
 */
function failed(status, detail) {
  return { status, body: undefined, errors: [{ attr: null, code: 'error', detail }] };
}
