import { isObjectName } from './kinds.ts';

/** One condition on a label. All conditions of a selector must hold. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: 'exists' | 'doesNotExist' }
  | { readonly key: string; readonly operator: 'in' | 'notIn'; readonly values: readonly string[] };

/** What `kubectl --selector` takes, parsed. No requirement at all selects everything. */
export type LabelSelector = readonly LabelRequirement[];

/**
 * Parses Kubernetes' text form of a label selector: `a=b`, `a==b`, `a!=b`, `a in (b, c)`,
 * `a notin (b, c)`, `a`, `!a`, joined by commas; empty text selects everything.
 * Source: k8s.io/apimachinery/pkg/labels/selector.go, `Parse`.
 *
 * @throws Error whose message names the position (from 1) and what was expected there.
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek().kind === 'end') return requirements;
  for (;;) {
    requirements.push(parseRequirement(tokens));
    const separator = tokens.next();
    if (separator.kind === 'end') return requirements;
    if (separator.text !== ',') throw unexpected(separator, '"," or the end');
  }
}

/**
 * The text that `parseLabelSelector` parses to this selector; of labels, it selects what has all of them.
 *
 * @example
 * const pods = await kube.list(PODS, { namespace, labelSelector: labelSelectorText({ app: 'web' }) });
 */
export function labelSelectorText(selector: LabelSelector | Readonly<Record<string, string>>): string {
  const requirements = isList(selector) ? selector : Object.entries(selector).map(equality);
  return requirements.map(requirementText).join(',');
}

function isList(selector: LabelSelector | Readonly<Record<string, string>>): selector is LabelSelector {
  return Array.isArray(selector);
}

function equality([key, value]: readonly [string, string]): LabelRequirement {
  return { key, operator: 'in', values: [value] };
}

function requirementText(requirement: LabelRequirement): string {
  switch (requirement.operator) {
    case 'exists':
      return requirement.key;
    case 'doesNotExist':
      return `!${requirement.key}`;
    case 'in':
      return comparison(requirement, { one: '=', several: 'in' });
    case 'notIn':
      return comparison(requirement, { one: '!=', several: 'notin' });
  }
}

/** A single value may be empty, which the form with parentheses does not allow. */
function comparison(
  { key, values }: Extract<LabelRequirement, { readonly operator: 'in' | 'notIn' }>,
  operator: { readonly one: string; readonly several: string },
): string {
  if (values.length === 1) return `${key}${operator.one}${values.join('')}`;
  return `${key} ${operator.several} (${values.join(',')})`;
}

/** Whether labels satisfy every requirement. `!=` and `notin` hold where the label is absent, as in Kubernetes. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return selector.every((requirement) => meets(requirement, labels));
}

function meets(requirement: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case 'doesNotExist':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notIn':
      return value === undefined || !requirement.values.includes(value);
  }
}

interface Token {
  readonly kind: 'word' | 'symbol' | 'end';
  readonly text: string;
  /** Where it begins, from 1. */
  readonly position: number;
}

/** The words and symbols of a selector, one after the other; whitespace only separates them. */
class Tokens {
  readonly #text: string;
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): Token {
    const offset = this.#offset;
    const token = this.next();
    this.#offset = offset;
    return token;
  }

  next(): Token {
    this.#offset += /^\s*/.exec(this.#rest())?.[0].length ?? 0;
    const position = this.#offset + 1;
    const symbol = /^(==|!=|[=!,()])/.exec(this.#rest())?.[0];
    const text = symbol ?? /^[^\s=!,()]*/.exec(this.#rest())?.[0] ?? '';
    this.#offset += text.length;
    if (symbol !== undefined) return { kind: 'symbol', text, position };
    return { kind: text === '' ? 'end' : 'word', text, position };
  }

  #rest(): string {
    return this.#text.slice(this.#offset);
  }
}

function parseRequirement(tokens: Tokens): LabelRequirement {
  if (tokens.peek().text === '!') {
    tokens.next();
    return { key: parseKey(tokens), operator: 'doesNotExist' };
  }
  const key = parseKey(tokens);
  const following = tokens.peek();
  if (following.kind === 'end' || following.text === ',') return { key, operator: 'exists' };
  return parseComparison(key, tokens);
}

function parseComparison(key: string, tokens: Tokens): LabelRequirement {
  const operator = tokens.next();
  switch (operator.text) {
    case '=':
    case '==':
      return { key, operator: 'in', values: [parseValue(tokens)] };
    case '!=':
      return { key, operator: 'notIn', values: [parseValue(tokens)] };
    case 'in':
      return { key, operator: 'in', values: parseValues(tokens) };
    case 'notin':
      return { key, operator: 'notIn', values: parseValues(tokens) };
    default:
      throw unexpected(operator, '=, ==, !=, in, notin or ","');
  }
}

function parseValues(tokens: Tokens): string[] {
  const open = tokens.next();
  if (open.text !== '(') throw unexpected(open, '"("');
  if (tokens.peek().text === ')') throw unexpected(tokens.next(), 'a label value');
  const values: string[] = [];
  for (;;) {
    values.push(parseValue(tokens));
    const separator = tokens.next();
    if (separator.text === ')') return values;
    if (separator.text !== ',') throw unexpected(separator, '"," or ")"');
  }
}

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

function parseKey(tokens: Tokens): string {
  const token = tokens.next();
  if (token.kind !== 'word') throw unexpected(token, 'a label key');
  if (!isLabelKey(token.text)) {
    throw invalid(token, 'label key', 'write a name such as team or example.com/team');
  }
  return token.text;
}

/** An optional DNS subdomain and a slash, then a name of at most 63 characters. Source: Kubernetes docs, "Labels". */
function isLabelKey(text: string): boolean {
  const [prefixOrName = '', name, ...rest] = text.split('/');
  if (rest.length > 0) return false;
  if (name === undefined) return isLabelValue(prefixOrName);
  return isObjectName(prefixOrName) && isLabelValue(name);
}

/** The name in a label's key has the same form. */
export function isLabelValue(text: string): boolean {
  return text.length <= 63 && NAME.test(text);
}

/** A label's value may be empty: `a=` and `a in (b,)` select it, as in Kubernetes. */
function parseValue(tokens: Tokens): string {
  const token = tokens.peek();
  if (token.kind === 'end' || token.text === ',' || token.text === ')') return '';
  tokens.next();
  if (token.kind !== 'word') throw unexpected(token, 'a label value');
  if (!isLabelValue(token.text)) {
    throw invalid(
      token,
      'label value',
      'use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
    );
  }
  return token.text;
}

function unexpected(token: Token, expected: string): Error {
  const found = token.kind === 'end' ? 'the end' : `"${token.text}"`;
  return new Error(`label selector, position ${token.position}: expected ${expected}, found ${found}`);
}

function invalid(token: Token, what: string, advice: string): Error {
  return new Error(`label selector, position ${token.position}: "${token.text}" is not a ${what}; ${advice}`);
}
