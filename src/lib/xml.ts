/** An element with its attributes in their order; what is undefined is left out. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
}

export function element(
  name: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Element | undefined)[]
): Element {
  return { name, attributes, children: children.filter((child) => child !== undefined) };
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Line breaks and tabs in an attribute would be read as blanks. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (one) => entities[one] ?? one).replaceAll(/[\n\r\t]/g, (one) => `&#${one.charCodeAt(0)};`);

/** The text of an element, indented by two blanks. */
export function xmlText({ name, attributes, children }: Element, indent = ''): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  const head = `${indent}<${name}${pairs.join('')}`;
  if (children.length === 0) return `${head}/>\n`;
  return `${head}>\n${children.map((child) => xmlText(child, `${indent}  `)).join('')}${indent}</${name}>\n`;
}
