import type { ComponentChildren } from "preact";
import { type CommandParts, commandLine } from "../format/shell.js";
import { useAbout } from "../state/about.js";
import { CopyButton } from "./copy.js";

interface Props {
  readonly title: string;
  /** One short sentence about the view. */
  readonly children: ComponentChildren;
  readonly commands: readonly CommandParts[];
  /** Shown if no command prints exactly what the view shows. */
  readonly commandNote?: string | undefined;
}

/** The head of every view: its title, its link, and the commands that print what it shows. */
export function ViewHead({ title, children, commands, commandNote }: Props) {
  return (
    <header class="view-head">
      <div class="view-title">
        <h1 tabIndex={-1}>{title}</h1>
        <CopyButton text={() => location.href} label="Copy link to this view" shows="Copy link" />
      </div>
      <p class="lead">{children}</p>
      <div class="commands">
        {commands.map((parts) => (
          <Command key={parts.command} parts={parts} />
        ))}
      </div>
      {commandNote === undefined ? null : <p class="note command-note">{commandNote}</p>}
    </header>
  );
}

/** A command that prints what the view shows, with a button to copy it. */
export function Command({ parts }: { readonly parts: CommandParts }) {
  const { location: where } = useAbout();
  const line = commandLine(where, parts);
  return (
    <div class="command">
      <span class="prompt" aria-hidden="true">
        $
      </span>
      <code>{line}</code>
      <CopyButton text={() => line} label={`Copy the command ${line}`} />
    </div>
  );
}
