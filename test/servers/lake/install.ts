// Installs SeaweedFS and Nessie into peers/ for tests that are skipped without them:
// node test/servers/lake/install.ts. Wants go (SeaweedFS takes minutes to build), mvn and python3.
import { installNessie } from './nessie.ts';
import { installSeaweedfs } from './seaweedfs.ts';

await installNessie(console.log);
await installSeaweedfs(console.log);
