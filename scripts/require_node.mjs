// Plain JavaScript, so that an older Node can read it and report the fault, instead of failing at
// the first type.
const wanted = 24;
const [major] = process.versions.node.split('.').map(Number);

if (major < wanted) {
  console.error(
    `Sluice runs on Node ${wanted}, and this is Node ${process.versions.node}. Run \`npm ci\` and then the npm command (\`npm start\`, \`npm test\`): on Linux and on macOS with arm64 ` +
      `it brings the right Node along, as long as optional packages are not left out. On another system, install Node ${wanted} first (https://nodejs.org).`,
  );
  process.exit(1);
}
