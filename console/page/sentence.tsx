import { server_address } from '../http/address.ts';

/** A sentence of the API, with the addresses of this server in it as links. */
export function Sentence({ text }: { text: string }) {
  if (text === '') return undefined;
  let at = 0;
  return text.split(/(https?:\/\/\S+)/).map((part) => {
    const key = (at += part.length);
    return part.startsWith(`${server_address}/`) ? (
      <a key={key} href={part}>
        {part}
      </a>
    ) : (
      <span key={key}>{part}</span>
    );
  });
}
