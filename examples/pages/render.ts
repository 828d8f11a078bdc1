import { resource, type Source } from "./tables.js";

/** Where resources come from; `undefined` for one that is not there. */
export interface Resources {
  template(name: string): Promise<string | undefined>;
  data(name: string): Promise<string | undefined>;
}

export interface Rendered {
  readonly html: string;
  /**
   * Every resource that was asked for, also those that were not there: the page changes when they
   * come. Sorted.
   */
  readonly uses: readonly string[];
}

/**
 * Of one page: templates that include others twice, which include others twice, would never come to
 * an end.
 */
const maxIncluded = 1_000;

/**
 * Renders a page. `{{name}}` is a value of the page, `{{data name}}` one that pages share, and `{{>
 * name}}` another template with the same values. What is not there is said in its place, and so is
 * a template that includes itself.
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
    // Every second part stands between braces.
    for (const [index, part] of text.split(/\{\{([^{}]*)\}\}/).entries()) {
      html += index % 2 === 0 ? part : await insert(part.trim(), [...within, name]);
    }
    return html;
  };
  const insert = async (tag: string, within: readonly string[]): Promise<string> => {
    const [, kind, name] = /^(> *|data +)?(.*)$/.exec(tag)!;
    if (kind?.startsWith(">")) return include(name!, within);
    if (kind === undefined)
      return escapeHtml(Object.hasOwn(values, name!) ? values[name!]! : `[no value ${name}]`);
    uses.add(resource("data", name!));
    return escapeHtml((await resources.data(name!)) ?? `[no data ${name}]`);
  };
  return { html: await include(template, []), uses: [...uses].sort() };
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character]!);
}
