/** The part of a browser's document that Preact needs to render text in elements. */
export class FakeNode {
  readonly nodeType: number;
  readonly localName: string;
  readonly namespaceURI = "http://www.w3.org/1999/xhtml";
  readonly childNodes: FakeNode[] = [];
  parentNode: FakeNode | null = null;
  data = "";

  constructor(nodeType: number, localName = "") {
    this.nodeType = nodeType;
    this.localName = localName;
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): FakeNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  get textContent(): string {
    return this.data + this.childNodes.map((each) => each.textContent).join("");
  }

  insertBefore(node: FakeNode, before: FakeNode | null): FakeNode {
    node.remove();
    const at = before === null ? -1 : this.childNodes.indexOf(before);
    this.childNodes.splice(at < 0 ? this.childNodes.length : at, 0, node);
    node.parentNode = this;
    return node;
  }

  appendChild(node: FakeNode): FakeNode {
    return this.insertBefore(node, null);
  }

  removeChild(node: FakeNode): FakeNode {
    node.remove();
    return node;
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    const at = siblings.indexOf(this);
    if (at >= 0) siblings.splice(at, 1);
    this.parentNode = null;
  }

  setAttribute(): void {}
  removeAttribute(): void {}
  addEventListener(): void {}
  removeEventListener(): void {}

  get ownerDocument() {
    return fakeDocument;
  }
}

export const fakeDocument = {
  createElement: (name: string) => new FakeNode(1, name),
  createElementNS: (_: string, name: string) => new FakeNode(1, name),
  createTextNode: (data: string) => {
    const node = new FakeNode(3);
    node.data = data;
    return node;
  },
};
