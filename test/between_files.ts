import { after, before } from 'node:test';

/**
 * Opens a resource for several test files of one process, before the first of them, and closes it
 * after the last. Each such file calls the returned function while it is loaded, so that the
 * remaining files are known. Hooks of an imported module could run before the tests of the file
 * that imports it. The result of that call waits for the opening, for hooks that need the resource.
 * The hooks of a file that runs alone start together.
 */
export function betweenFiles(
  open: () => Promise<unknown>,
  close: () => Promise<unknown> | void,
): () => () => Promise<unknown> {
  let users = 0;
  let opening: Promise<unknown> | undefined;
  return () => {
    users += 1;
    const opened = () => (opening ??= open());
    before(opened);
    after(async () => {
      users -= 1;
      if (users === 0) await close();
    });
    return opened;
  };
}
