import { after, before } from 'node:test';

/**
 * Something that test files of one process have one after the other, opened before the first of
 * them and closed behind the last. The function that it gives is called by each such file while it
 * is loaded, so that it is known who is still to come; hooks of an imported module could run before
 * the tests of the file that imports it. What that gives waits for the opening, for hooks that need
 * what is opened: those of a file that runs by itself begin together.
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
