import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from '../../servers/loopback.ts';

/** The API of a vendor: it asks Keycloak about the token of each request. */
export type Receiver = {
  url: string;
  /** The events that arrived with a token that Keycloak calls active, with that token. */
  taken: { uuid: string; token: string }[];
  /** Number of requests whose token Keycloak does not call active. */
  refused: number;
  close(): Promise<void>;
};

/** Returns true if Keycloak calls a token active. */
export type Introspect = (token: string) => Promise<boolean>;

/** Opens the introspection (RFC 7662) of a realm, as its client. */
export function openIntrospection(
  issuer: string,
  client: { id: string; secret: string },
): Introspect {
  return async (token) => {
    const answer = await fetch(`${issuer}/protocol/openid-connect/token/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: client.id, client_secret: client.secret }),
    });
    return ((await answer.json()) as { active?: boolean }).active === true;
  };
}

/** Opens the receiver. */
export async function openReceiver(introspect: Introspect): Promise<Receiver> {
  const server = createServer((request, response) => {
    const take = async () => {
      const { messageId } = JSON.parse(await text(request)) as { messageId: string };
      const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
      const isActive = await introspect(token);
      if (isActive) receiver.taken.push({ uuid: messageId, token });
      else receiver.refused += 1;
      response.writeHead(isActive ? 200 : 401).end();
    };
    take().catch(() => response.destroy());
  });
  const { port, close } = await listenLocally(server);
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/in`, taken: [], refused: 0, close };
  return receiver;
}
