/** Prints docs/configuration.md: `node scripts/configuration_docs.ts > docs/configuration.md`. */
import process from 'node:process';
import './require_node.mjs';
import { configurationText } from './configuration_text.ts';

process.stdout.write(configurationText());
