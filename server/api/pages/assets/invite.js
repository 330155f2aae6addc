import { ask, askForCode, serveForms } from './form.js';

// The forms hold the token; in the address it would only be seen, and kept in the history.
const address = location.href;
history.replaceState(null, '', location.pathname);

const enter = () => location.replace('/account');

serveForms({
  join: { done: enter },
  sign_up: { done: enter },
  sign_in: {
    body: ({ email, password, code }) => ({ email, password, code }),
    done: async (_answer, _form, { accept, token }) => {
      const { errors } = await ask('POST', String(accept), { token });
      if (errors.length > 0) return errors;
      enter();
    },
    refused: askForCode,
  },
  sign_out: { done: () => location.replace(address) },
});
