/** What people type to ask an operator. Only ours is asked by the plugin of kubectl; an author's program asks itself. */
export function askCommandOf(program: string): string {
  return program === 'durable-operator' ? 'kubectl durable' : program;
}
