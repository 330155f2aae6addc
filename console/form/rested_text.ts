import { useEffect, useEffectEvent, useState } from 'react';

/** After so many milliseconds without a key the text is told. */
const rest_ms = 300;

/**
 * A text as it is typed, told after a short rest of the keys. A value that comes from elsewhere,
 * such as a link or the back button, takes its place.
 */
export function useRestedText(
  value: string,
  tell: (text: string) => void,
): [text: string, type: (text: string) => void] {
  const [{ text, told, seen }, setState] = useState({ text: value, told: value, seen: value });
  if (value !== seen) setState({ text: value === told ? text : value, told: value, seen: value });
  const rested = useEffectEvent(() => {
    setState((before) => ({ ...before, told: text }));
    tell(text);
  });
  useEffect(() => {
    if (text === told) return undefined;
    const timer = setTimeout(rested, rest_ms);
    return () => clearTimeout(timer);
  }, [text, told]);
  return [text, (typed) => setState((before) => ({ ...before, text: typed }))];
}
