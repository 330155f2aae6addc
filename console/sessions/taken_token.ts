import { useEffect, useState } from 'react';

/**
 * Returns the token of a link and removes it from the address at once with `leave`, so that it is
 * not visible or stored in the history. It stays known until the person leaves the page.
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
