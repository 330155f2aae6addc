import { Button, Popover } from '@mantine/core';
import { server_address } from '../http/address.ts';
import { Command } from './command.tsx';

/** Shows how a program asks for what the page shows. */
export function AsCurl({ path }: { path: string }) {
  return (
    <Popover position="bottom-end" width="min(560px, 94vw)" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button size="compact-sm" variant="default">
          As curl
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <p>The same for a program, with one of your API keys in place of $KEY:</p>
        <Command what="the request of this page" text={curl(path)} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Returns the command that gets the data of an API path. */
export function curl(path: string): string {
  return `curl -H "Authorization: Bearer $KEY" \\\n  '${server_address}${path}'`;
}
