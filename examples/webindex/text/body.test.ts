import { expect, it } from "vitest";
import { bodyText } from "./body.js";

const prose = "The walrus is a large marine mammal. ".repeat(5).trim();
const read = (html: string) => bodyText(Buffer.from(html), "text/html", "https://example.org/");

it("takes the text of the main element, with its own header", () => {
  const html = `<title>T</title><header>Site</header><nav><a href="/">Menu</a></nav>
    <main><header><h1>Walrus</h1></header><nav>On this page</nav><p>${prose}</p></main><footer>Imprint</footer>`;
  expect(read(html)).toBe(`Walrus ${prose}`);
});

it("leaves out menus and roles of navigation if there is no main element", () => {
  const html = `<div role="navigation">Menu <div>inner</div> more</div><p>${prose}</p>
    <svg><text>no</text></svg><script>no()</script><aside>See also</aside><form>Search</form>`;
  expect(read(html)).toBe(prose);
});

it("takes all of the text if little is left, and if a menu is never closed", () => {
  expect(read("<nav>Only a menu</nav><p>Short.</p>")).toBe("Only a menu Short.");
  expect(read(`<nav>Menu<p>${prose}</p>`)).toBe(`Menu ${prose}`);
});

it("reads other types whole", () => {
  expect(bodyText(Buffer.from("plain <nav>text</nav>"), "text/plain", "https://example.org/")).toBe(
    "plain <nav>text</nav>",
  );
});
