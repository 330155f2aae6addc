/** A text of others, with its links and code as in Markdown; emphasis and other links are text. */
export function Linked({ text }: { text: string }) {
  const parts = text
    .replaceAll(/(\*{1,3})(?=\S)([^*]*[^*\s])\1/g, '$2')
    .replaceAll(/\[([^\]]+)\]\((?!https?:\/\/)[^\s)]*\)/g, '$1')
    .split(/\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|`([^`]+)`/);
  return parts.map((part, at) =>
    // Each mark gives four parts: the text before it, words and address of a link, and code.
    at % 4 === 0 ? (
      part
    ) : part === undefined || at % 4 === 2 ? null : at % 4 === 1 ? (
      <a key={at} href={parts[at + 1]} target="_blank" rel="noreferrer">
        {part}
      </a>
    ) : (
      <code key={at}>{part}</code>
    ),
  );
}
