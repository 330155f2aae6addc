import { Button, Popover } from '@mantine/core';
import { server_address } from '../http/address.ts';
import { Command } from './command.tsx';
import { Dialog } from './dialog.tsx';

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
        <Request path={path} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Shows the command in front of everything else, for pages whose menu has it. */
export function CurlDialog({ path, close }: { path: string; close: () => void }) {
  return (
    <Dialog title="As curl" close={close}>
      <Request path={path} />
      <div className="answers">
        <Button variant="default" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Request({ path }: { path: string }) {
  return (
    <>
      <p>This command reads the data of this page. Replace $KEY with one of your API keys:</p>
      <Command what="the request of this page" text={curl(path)} />
    </>
  );
}

/** Returns the command that gets the data of an API path. */
export function curl(path: string): string {
  return `curl -H "Authorization: Bearer $KEY" \\\n  '${server_address}${path}'`;
}
