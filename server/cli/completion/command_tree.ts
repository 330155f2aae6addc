import type { Command } from 'commander';

/** A command, for completion and documentation. */
export type CommandNode = {
  /** Its words after `sluice`; empty for the program itself. */
  words: string[];
  command: Command;
  inner: CommandNode[];
};

/** Returns all commands of a program as a tree, in the order of its help. */
export function commandTree(command: Command, words: string[] = []): CommandNode {
  const inner = command.commands.map((one) => commandTree(one, [...words, one.name()]));
  return { words, command, inner };
}

/** Returns a node and all nodes below, parents first. */
export function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.inner.flatMap(allNodes)];
}
