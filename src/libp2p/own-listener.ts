/** A listener of ours, which throws nothing: there are several for every stream, and they are added as they are. */
export abstract class OwnListener {
  abstract handleEvent (event: Event): void
}
