/** A text of the API, with what stands in its backticks as code. */
export function Coded({ text }: { text: string }) {
  // Every second part lies between two backticks.
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}
