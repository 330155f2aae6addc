/** A text of others, in which links are written as in Markdown. */
export function Linked({ text }: { text: string }) {
  const parts = text.split(/\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/);
  return parts.map((part, at) =>
    // Each link gives three parts: the text before it, its words, and its address.
    at % 3 === 0 ? (
      part
    ) : at % 3 === 1 ? (
      <a key={at} href={parts[at + 1]} target="_blank" rel="noreferrer">
        {part}
      </a>
    ) : null,
  );
}
