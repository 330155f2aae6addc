import { readAsset } from '../../platform/http/pages/assets.ts';

const form = readAsset(new URL('./assets/form.js', import.meta.url));
const script = (name: string) => readAsset(new URL(`./assets/${name}.js`, import.meta.url), [form]);

/** The scripts of the pages; all of them import `form`. */
export const scripts = {
  form,
  login: script('login'),
  forgot_password: script('forgot_password'),
  link: script('link'),
  invite: script('invite'),
  account: script('account'),
};
