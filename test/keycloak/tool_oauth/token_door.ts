import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from '../../servers/loopback.ts';

/** A proxy of Keycloak's token address, which can hold an answer back. */
export type TokenDoor = {
  url: string;
  /** The refresh tokens of the requests, in order, and Keycloak's answers. */
  refreshes: { token: string; status: number }[];
  /** Holds answers to refreshes back from now on; returns a function that releases them. */
  hold(): () => void;
  close(): Promise<void>;
};

/** Opens the proxy of the token address of a realm. */
export async function openTokenDoor(token_url: string): Promise<TokenDoor> {
  let held = Promise.resolve();
  const server = createServer((request, response) => {
    const hand = async () => {
      const body = await text(request);
      const { authorization } = request.headers;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await fetch(token_url, {
        method: 'POST',
        body,
        headers: authorization === undefined ? headers : { ...headers, authorization },
      });
      const answered = await answer.text();
      const asked = new URLSearchParams(body);
      if (asked.get('grant_type') === 'refresh_token') {
        door.refreshes.push({ token: asked.get('refresh_token') ?? '', status: answer.status });
        await held;
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answered);
    };
    hand().catch(() => response.destroy());
  });
  const { port, close } = await listenLocally(server);
  const door: TokenDoor = {
    url: `http://127.0.0.1:${port}/token`,
    refreshes: [],
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = Promise.resolve();
        resolve();
      };
    },
    close,
  };
  return door;
}
