const base = new URL('.', document.baseURI);

/** The path under which the server is reached, without a slash at its end; mostly empty. */
export const base_path = base.pathname.replace(/\/$/, '');

/** The address of the server as a program outside of the browser writes it, without a slash. */
export const server_address = base.origin + base_path;

/** A path of the server (`/api/...`) as this page has to ask for it. */
export function addressOf(path: string): string {
  return base_path + path;
}
