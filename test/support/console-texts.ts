/** Finds text for people in the sources of the console: it belongs to the catalogue, so that it can be translated. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  isArrayLiteralExpression,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isElementAccessExpression,
  isImportDeclaration,
  isJsxAttribute,
  isJsxExpression,
  isJsxText,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isTypeNode,
  type Node,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

/** Attributes whose values are for browsers or scripts. */
const technical = new Set([
  ...['class', 'type', 'id', 'key', 'href', 'role', 'for', 'name', 'autocomplete', 'inputMode', 'list', 'style'],
  ...['viewBox', 'points', 'd', 'describedBy', 'entry', 'kind', 'state', 'order', 'value', 'rel', 'target'],
]);
const forPeople = new Set([
  ...['title', 'aria-label', 'placeholder', 'label', 'what', 'send', 'report', 'empty', 'data', 'further'],
]);
/** Members of objects whose values are for programs, such as requests. */
const members =
  /^(method|path|address|of|verb|widget|wire|way|kind|state|name|href|segment|service|page|fields|filter|query)$/;
/** Functions whose arguments are addresses, selectors, keys or the like. */
const functions =
  /^(link|go|touch|addressOf|formOf|entryOf|useChoices|useLive|RegExp|Headers|URLSearchParams|client\.\w+|document\.\w+|words\.\w+|(add|remove)EventListener|.*\.(startsWith|endsWith|includes|split|replace|replaceAll|join|append|get|has|set|test|querySelector|closest|matches|setAttribute|exchange|request|observe|indexOf|lastIndexOf))$/;

const isCode = (text: string) => /^[\w-]+\/[\w/…-]*$/.test(text.trim()) || /^(mount |holdfast [a-z]|[/#.])/.test(text);
const hasWords = (text: string) =>
  !isCode(text) && (/[A-Za-z’,:;.!?]{2,} +[\w(“…·]/.test(text.trim()) || /^[A-Z][a-z]+/.test(text));
const hasLetters = (text: string) => /[A-Za-z]/.test(text) && !isCode(text);

/** What the place of a literal says: it is shown, it is no text, or its own words decide. */
type Place = 'shown' | 'no text' | 'anything';

function textsIn(node: Node, source: string, place: Place, found: (node: Node, text: string) => void): void {
  const inside = (child: Node, next: Place) => textsIn(child, source, next, found);
  const each = (next: (child: Node) => Place) => {
    node.forEachChild((child) => {
      inside(child, next(child));
      return undefined;
    });
  };
  const report = (text: string) => {
    if (place === 'no text' ? false : place === 'shown' ? hasLetters(text) : hasWords(text)) found(node, text);
  };
  if (isImportDeclaration(node) || isTypeNode(node)) return;
  if (isJsxText(node)) {
    if (hasLetters(node.text)) found(node, node.text.trim());
  } else if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) report(node.text);
  else if (isTemplateExpression(node)) {
    report([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…'));
    for (const { expression } of node.templateSpans) inside(expression, place === 'no text' ? place : 'anything');
  } else if (isJsxAttribute(node)) {
    const name = source.slice(node.name.pos, node.name.end).trim();
    const isTechnical = technical.has(name) || (/^aria-/.test(name) && name !== 'aria-label');
    if (node.initializer !== undefined)
      inside(node.initializer, isTechnical ? 'no text' : forPeople.has(name) ? 'shown' : 'anything');
  } else if (isJsxExpression(node)) each(() => (place === 'anything' ? 'shown' : place));
  else if (isParenthesizedExpression(node)) each(() => place);
  else if (isConditionalExpression(node)) each((child) => (child === node.condition ? 'anything' : place));
  else if (isBinaryExpression(node)) {
    const operator = source.slice(node.operatorToken.pos, node.operatorToken.end).trim();
    if (operator === '&&') each((child) => (child === node.right ? place : 'anything'));
    else
      each(() => (/^[!=]==?$|^in$/.test(operator) ? 'no text' : /^(\|\||\?\?)$/.test(operator) ? place : 'anything'));
  } else if (isPropertyAssignment(node)) {
    const isTechnical = members.test(source.slice(node.name.pos, node.name.end).trim());
    inside(node.initializer, isTechnical ? 'no text' : place === 'no text' ? place : 'anything');
  } else if (isElementAccessExpression(node))
    each((child) => (child === node.argumentExpression ? 'no text' : 'anything'));
  else if (isCallExpression(node) || isNewExpression(node)) {
    const called = source.slice(node.expression.pos, node.expression.end).replaceAll(/\s+/g, '');
    const isTechnical = functions.test(called);
    each((child) => (isTechnical && child !== node.expression && isPlain(child) ? 'no text' : 'anything'));
  } else each(() => (place === 'no text' && isPlain(node) ? place : 'anything'));
}

/** Whether a place goes on into it: an object or a list, but not a function, which can show something again. */
function isPlain(node: Node): boolean {
  return (
    isStringLiteral(node) ||
    isTemplateExpression(node) ||
    isNoSubstitutionTemplateLiteral(node) ||
    isConditionalExpression(node) ||
    isArrayLiteralExpression(node) ||
    isObjectLiteralExpression(node)
  );
}

/** The text in the files of a project that its catalogue does not have, each as `file: text`. */
export function looseTexts(project: string, without: RegExp): readonly string[] {
  const api = new API({ cwd: project });
  try {
    const config = join(project, 'tsconfig.json');
    const { program } = api.updateSnapshot({ openProjects: [config] }).getProject(config) ?? {};
    const found: string[] = [];
    for (const name of readdirSync(project, { recursive: true }).map(String)) {
      if (!/\.tsx?$/.test(name) || without.test(name)) continue;
      const file = program?.getSourceFile(join(project, name));
      if (file === undefined) throw new Error(`${name} is not in the project`);
      textsIn(file, file.text, 'anything', (_, text) => void found.push(`${name}: ${text}`));
    }
    return found;
  } finally {
    api.close();
  }
}
