import { useQuery } from '@tanstack/react-query';
import { instance } from './instance.ts';

/** Returns a function that writes a command as operators of this server type it. */
export function useCommandLine(): (words: string) => string {
  const command = useQuery(instance).data?.command ?? 'sluice';
  return (words) => `${command} ${words}`;
}

/** A command within a sentence, as operators of this server type it. */
export function CommandLine({ words }: { words: string }) {
  const commandLine = useCommandLine();
  return <code>{commandLine(words)}</code>;
}
