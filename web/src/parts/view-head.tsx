import type { ComponentChildren } from "preact";
import { type CommandParts, commandLine } from "../format/shell.js";
import { useAbout } from "../state/about.js";
import { CopyButton } from "./copy.js";

interface Props {
  readonly title: string;
  /** A short sentence for what is shown. */
  readonly children: ComponentChildren;
  readonly commands: readonly CommandParts[];
  /** Where the command line has no equivalent, what comes near. */
  readonly commandNote?: string | undefined;
}

/** Above every view: what it shows, its link, and how the command line shows the same. */
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
        {commandNote === undefined ? null : <p class="note">{commandNote}</p>}
      </div>
    </header>
  );
}

/** The command line that shows the same, to be copied. */
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
