import type { PluginOauth } from '../../../server/api/plugin_configs/oauth/schema.ts';

/** Returns the state of a tool's connection: a word, its shape and its colour. */
export function connectionState({ application, connection }: PluginOauth): {
  word: string;
  shape: string;
  tone: 'good' | 'bad' | 'warn' | 'muted';
} {
  if (application === null) return { word: 'No OAuth application', shape: '○', tone: 'warn' };
  if (connection === null) return { word: 'Not connected', shape: '○', tone: 'warn' };
  return connection.refused === null
    ? { word: 'Connected', shape: '●', tone: 'good' }
    : { word: 'Connect it again', shape: '▲', tone: 'bad' };
}
