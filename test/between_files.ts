import { after, before } from 'node:test';

/**
 * Something that test files of one process have one after the other, opened before the first of
 * them and closed behind the last. The function that it gives is called by each such file while it
 * is loaded, so that it is known who is still to come; hooks of an imported module could run before
 * the tests of the file that imports it.
 */
export function betweenFiles(
  open: () => Promise<unknown>,
  close: () => Promise<unknown> | void,
): () => void {
  let users = 0;
  let opening: Promise<unknown> | undefined;
  return () => {
    users += 1;
    before(() => (opening ??= open()));
    after(async () => {
      users -= 1;
      if (users === 0) await close();
    });
  };
}
