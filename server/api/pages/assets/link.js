import { serveForms, show } from './form.js';

// The form holds the token; in the address it would only be seen, and kept in the history.
history.replaceState(null, '', location.pathname.replace(/\/[^/]+$/, ''));

serveForms({
  link: {
    done: ({ body }, form) => {
      form.hidden = true;
      show('done', { email: body.email });
    },
  },
});
