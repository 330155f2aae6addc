-- Whether agents (what asks by MCP) may change something in the organization with a key that could.

ALTER TABLE organizations ADD COLUMN forbids_agent_writes boolean NOT NULL DEFAULT false;
