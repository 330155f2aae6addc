import { server_address } from '../../http/address.ts';
import { Instant, Since } from '../../time/instant.tsx';
import { Coded } from './coded.tsx';
import { partsOf } from './sentence_parts.ts';

/**
 * A sentence of the API, with names in backticks as code and addresses of this server as links.
 * Instants have the page's form: to the minute, in the project's time zone. With `is_short`,
 * instants of today show only a time with seconds.
 */
export function Sentence({ text, is_short = false }: { text: string; is_short?: boolean }) {
  let at = 0;
  return partsOf(text).map((part) => {
    const key = (at += part.text.length);
    if (part.kind === 'instant')
      return is_short ? (
        <Since key={key} at={part.text} is_precise />
      ) : (
        <Instant key={key} at={part.text} is_exact />
      );
    return part.text.startsWith(`${server_address}/`) ? (
      <a key={key} href={part.text}>
        {part.text}
      </a>
    ) : (
      <span key={key}>
        <Coded text={part.text} />
      </span>
    );
  });
}
