/** The key under which the workflow thread is given the memory that says since when it is in a workflow. */
export const CALL_BEGAN = 'durable-operator.workflow-call-began';
