/** Text that is safe in HTML. {@link html} makes it, and escapes all other text. */
export class Html {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** A template of HTML: it escapes strings, joins arrays, and leaves out `undefined`. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    parts.map((part, index) => (index === 0 ? part : render(values[index - 1]) + part)).join(""),
  );
}

function render(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.source;
  if (typeof value === "object") return value.map(render).join("");
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
