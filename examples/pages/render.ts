import { resource, type Source } from "./tables.js";

/** The source of resources. Returns `undefined` for a missing one. */
export interface Resources {
  template(name: string): Promise<string | undefined>;
  data(name: string): Promise<string | undefined>;
}

export interface Rendered {
  readonly html: string;
  /**
   * Every resource that was requested, sorted. Includes missing ones, because the page changes when
   * they are created.
   */
  readonly uses: readonly string[];
}

/**
 * The most templates that one page may include. If each template includes the next one twice, their
 * number doubles at each level.
 */
const maxIncluded = 1_000;

/**
 * Renders a page. `{{name}}` is a value of the page, `{{data name}}` a shared value, and `{{>
 * name}}` another template with the same values. A missing resource, or a template that includes
 * itself, is replaced by a message.
 */
export async function render({ template, values }: Source, resources: Resources): Promise<Rendered> {
  const uses = new Set<string>();
  let included = 0;
  const include = async (name: string, within: readonly string[]): Promise<string> => {
    if (within.includes(name)) return `[template ${escapeHtml(name)} includes itself]`;
    if (++included > maxIncluded) return "[too many templates]";
    uses.add(resource("template", name));
    const text = await resources.template(name);
    if (text === undefined) return `[no template ${escapeHtml(name)}]`;
    let html = "";
    // Every second part was in braces.
    for (const [index, part] of text.split(/\{\{([^{}]*)\}\}/).entries()) {
      html += index % 2 === 0 ? part : await insert(part.trim(), [...within, name]);
    }
    return html;
  };
  const insert = async (tag: string, within: readonly string[]): Promise<string> => {
    const [, kind, name] = /^(> *|data +)?(.*)$/s.exec(tag)!;
    if (kind?.startsWith(">")) return include(name!, within);
    if (kind === undefined)
      return escapeHtml(Object.hasOwn(values, name!) ? values[name!]! : `[no value ${name}]`);
    uses.add(resource("data", name!));
    return escapeHtml((await resources.data(name!)) ?? `[no data ${name}]`);
  };
  return { html: await include(template, []), uses: [...uses].sort() };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}
