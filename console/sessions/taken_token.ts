import { useEffect, useState } from 'react';

/**
 * The token of a link, which `leave` takes out of the address at once: there it would only be seen,
 * and kept in the history. It is known until the page is left.
 */
export function useTakenToken(
  token: string | undefined,
  leave: () => Promise<void>,
): string | undefined {
  const [taken, setTaken] = useState(token);
  if (token !== undefined && token !== taken) setTaken(token);
  useEffect(() => {
    if (token !== undefined) void leave();
  });
  return token ?? taken;
}
