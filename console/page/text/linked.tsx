/** A text from outside, with Markdown links and code; emphasis and other links stay text. */
export function Linked({ text }: { text: string }) {
  const parts = text
    .replaceAll(/(\*{1,3})(?=\S)([^*]*[^*\s])\1/g, '$2')
    .replaceAll(/\[([^\]]+)\]\((?!https?:\/\/)[^\s)]*\)/g, '$1')
    .split(/\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|`([^`]+)`/);
  return parts.map((part, at) =>
    // Each match has four parts: the text before, words and address of a link, and code.
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
