const base = new URL('.', document.baseURI);

/** The base path of the server, without a slash at its end; usually empty. */
export const base_path = base.pathname.replace(/\/$/, '');

/** The address of the server for programs, without a slash at its end. */
export const server_address = base.origin + base_path;

/** Returns a path of the server (`/api/...`) as this page requests it. */
export function addressOf(path: string): string {
  return base_path + path;
}
