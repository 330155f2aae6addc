import { useQuery } from '@tanstack/react-query';
import { instance } from './instance.ts';

/** Returns a function that formats a command for this server's operators. */
export function useCommandLine(): (words: string) => string {
  const command = useQuery(instance).data?.command ?? 'sluice';
  return (words) => `${command} ${words}`;
}

/** A command in a sentence, in the form for this server's operators. */
export function CommandLine({ words }: { words: string }) {
  const commandLine = useCommandLine();
  return <code>{commandLine(words)}</code>;
}
