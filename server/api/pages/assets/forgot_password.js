import { serveForms, show } from './form.js';

serveForms({
  forgot: {
    done: ({ body }, form) => {
      form.hidden = true;
      show('done', { detail: body.detail });
    },
  },
});
