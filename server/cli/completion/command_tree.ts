import type { Command } from 'commander';

/** A command as completion and documentation need it. */
export type CommandNode = {
  /** Its words behind `sluice`; empty for the program itself. */
  words: string[];
  command: Command;
  inner: CommandNode[];
};

/** All commands of a program as a tree, in the order of its help. */
export function commandTree(command: Command, words: string[] = []): CommandNode {
  const inner = command.commands.map((one) => commandTree(one, [...words, one.name()]));
  return { words, command, inner };
}

/** A node and all below it, parents first. */
export function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.inner.flatMap(allNodes)];
}
