/** A text of the API, whose parts in backticks are shown as code. */
export function Coded({ text }: { text: string }) {
  // Every second part is between two backticks.
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}
