/** The objects that a step may delete, and that a person may have to approve of. */
export interface Deletion {
  /** A kind: `Pod`. */
  readonly what: string;
  /** Of the objects that `objects` returns, so many may be deleted. With 0: none. */
  readonly count: number;
  /**
   * The objects, the first to be deleted first. `kube.delete` and `kube.evict` refuse any UID that is not among the first `count`. An
   * approval is for just these objects. Left-over ones, such as after a crash, are another plan.
   */
  readonly objects: () => readonly DeletedObject[];
  /**
   * The objects are as good as each other, such as the Pods of a PodSet. This text says what is to be reached: `generation 3`. One approval then covers
   * all batches of at most `count` objects while the text is the same. Default: they are not.
   */
  readonly interchangeable?: string;
  /**
   * Whether a person has to approve, besides what people ask for. `required`: always. `never`: however many there are, in spite of
   * `--require-approval-over`. The annotation `durable-operator.dev/approval` of a resource always counts. Default: as that option says.
   */
  readonly approval?: 'required' | 'never';
  /**
   * Objects that the controller has made for its own work, such as a Job that has ended. They may be deleted besides, however many they are, and nobody has to
   * approve. Default: none.
   */
  readonly helpers?: () => readonly DeletedObject[];
}

/** An object that a step deletes. */
export interface DeletedObject {
  /** Default: that of the resource. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}
