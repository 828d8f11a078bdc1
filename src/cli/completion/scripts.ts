import type { CommandWords } from "./words.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Returns the script with which a shell completes the command lines of this program. */
export function completionScript(shell: Shell, words: readonly CommandWords[]): string {
  switch (shell) {
    case "bash":
      return bashScript(words);
    case "zsh":
      return zshScript(words);
    case "fish":
      return fishScript(words);
  }
}

const namesOf = (words: readonly CommandWords[]) => [...words.map(({ name }) => name), "help"].join(" ");
const withTarget = (words: readonly CommandWords[]) =>
  words
    .filter(({ takesTarget }) => takesTarget)
    .map(({ name }) => name)
    .join("|");
const flagsOf = ({ options }: CommandWords) => options.map(({ flag }) => flag).join(" ");

/** Puts text in single quotes, in a form that all three shells accept. */
const quoted = (text: string) => `'${text.replaceAll("'", "")}'`;

/**
 * Lists the tables of a folder. For a remote store it lists none: a request takes too long for a
 * key press.
 */
const targetsOf = (location: string) => `percolator completion --targets "${location}" 2>/dev/null`;

function bashScript(words: readonly CommandWords[]): string {
  return `# percolator completion for bash: source <(percolator completion bash)
_percolator() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" options=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${namesOf(words)}" -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${words.map((each) => `    ${each.name}) options="${flagsOf(each)}" ;;`).join("\n")}
    help) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "${namesOf(words)}" -- "$cur")); return ;;
    completion) ;;
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")); return ;;
  esac
  if [ "\${COMP_WORDS[1]}" = completion ]; then
    COMPREPLY=($(compgen -W "${shells.join(" ")}" -- "$cur"))
    return
  fi
  if [ "$COMP_CWORD" -eq 3 ]; then
    case "\${COMP_WORDS[1]}" in
      ${withTarget(words)})
        COMPREPLY=($(compgen -W "$(${targetsOf(`\${COMP_WORDS[2]}`)})" -- "$cur"))
        return ;;
    esac
  fi
  COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _percolator percolator
`;
}

function zshScript(words: readonly CommandWords[]): string {
  const describe = (name: string, text: string) => quoted(`${name.replaceAll(":", "\\:")}:${text}`);
  return `#compdef percolator
# percolator completion for zsh: put it as _percolator into a folder of $fpath, or: source <(percolator completion zsh)
_percolator() {
  local -a commands options targets
  commands=(${words.map(({ name, summary }) => describe(name, summary)).join(" ")})
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case $words[2] in
${words.map((each) => `    ${each.name}) options=(${each.options.map(({ flag, description }) => describe(flag, description)).join(" ")}) ;;`).join("\n")}
    help) _describe 'command' commands; return ;;
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe 'option' options
    return
  fi
  if [[ $words[2] == completion ]]; then
    compadd ${shells.join(" ")}
    return
  fi
  if (( CURRENT == 4 )) && [[ $words[2] == (${withTarget(words)}) ]]; then
    targets=(\${(f)"$(${targetsOf(`\${(Q)words[3]}`)})"})
    compadd -a targets
    return
  fi
  _files
}
if [ "$funcstack[1]" = _percolator ]; then _percolator "$@"; else compdef _percolator percolator; fi
`;
}

function fishScript(words: readonly CommandWords[]): string {
  const line = (condition: string, rest: string) => `complete -c percolator -n ${quoted(condition)} ${rest}`;
  const lines = words.flatMap(({ name, summary, options }) => [
    line("__fish_use_subcommand", `-f -a ${name} -d ${quoted(summary)}`),
    ...options.map(({ flag, description }) =>
      line(`__fish_seen_subcommand_from ${name}`, `-l ${flag.replace(/^--/, "")} -d ${quoted(description)}`),
    ),
  ]);
  const target = `__fish_seen_subcommand_from ${withTarget(words).replaceAll("|", " ")}; and test (count (commandline -opc)) -eq 3`;
  return `# percolator completion for fish: percolator completion fish > ~/.config/fish/completions/percolator.fish
${lines.join("\n")}
${line("__fish_seen_subcommand_from completion", `-f -a ${quoted(shells.join(" "))}`)}
${line(target, `-f -a '(percolator completion --targets (commandline -opc)[3] 2>/dev/null)'`)}
`;
}
